"""Groups, clipping, schedules, accumulation, and an optimizer of one's own."""

import math
import sys
import warnings

import torch
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_, parameters_to_vector
from torch.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    SequentialLR,
    StepLR,
)

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:wave]
def wave(shape, pace):
    k = torch.arange(1, math.prod(shape) + 1, dtype=torch.float64)
    return torch.sin(pace * k).float().reshape(shape)


# --8<-- [end:wave]


# --8<-- [start:net]
# --8<-- [part:layers]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)
        with torch.no_grad():
            for k, parameter in enumerate(self.parameters(), start=1):
                parameter.copy_(wave(parameter.shape, k))

    # --8<-- [part:loss]
    def loss(self, samples):
        x = wave([10, 3], 0.7)[samples]
        y = wave([10, 2], 0.3)[samples]
        y_hat = self.head(self.body(x).tanh())
        return (y_hat - y).square().mean()


# --8<-- [end:net]
ALL = slice(0, 10)


def keep(name, model):
    record(name, parameters_to_vector(model.parameters()))


# --8<-- [start:two]
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1))
        self.second = nn.Parameter(torch.zeros(1))

    def loss(self):
        return 3 * self.first + 4 * self.second


# --8<-- [end:two]


def walk():
    section("walk")
    # --8<-- [start:walk]
    # --8<-- [part:walk]
    for name, parameter in Net().named_parameters():
        # --8<-- [part:print]
        print(name, parameter.numel())
    # --8<-- [end:walk]


def missing():
    section("missing")
    # --8<-- [start:missing]
    for kind in ["missing", "zero"]:
        # --8<-- [part:optimizer]
        model = Net()
        optimizer = optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
        # --8<-- [part:take]
        model.loss(ALL).backward()
        weight = model.head.weight
        weight.grad = None
        if kind == "zero":
            # --8<-- [part:zero]
            weight.grad = torch.zeros_like(weight)
        # --8<-- [part:step]
        optimizer.step()
        # --8<-- [part:print]
        moved = not weight.equal(Net().head.weight)
        print(f"{kind}: head.weight moved: {str(moved).lower()}")
        # --8<-- [part:]
        keep(f"missing.{kind}", model)
    # --8<-- [end:missing]


def halves():
    # --8<-- [start:halves]
    model = Net()
    # --8<-- [part:two]
    for_body = optim.SGD(model.body.parameters(), lr=0.01)
    for_head = optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(3):
        for_body.zero_grad()
        for_head.zero_grad()
        # --8<-- [part:gradients]
        model.loss(ALL).backward()
        # --8<-- [part:step]
        for_body.step()
        for_head.step()
    # --8<-- [end:halves]
    keep("halves", model)

    model = Net()
    groups = [
        {"params": model.body.parameters(), "lr": 0.01},
        {"params": model.head.parameters()},
    ]
    optimizer = optim.SGD(groups, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model.loss(ALL).backward()
        optimizer.step()
    note("rates-only", parameters_to_vector(model.parameters()))


def groups():
    # --8<-- [start:groups]
    model = Net()
    body, head = model.body, model.head
    # --8<-- [part:decay]
    decay = {"weight_decay": 0.5}
    # --8<-- [part:rates]
    slow = {"lr": 0.01}
    # --8<-- [part:optimizer]
    groups = [
        {"params": [body.weight], **slow, **decay},
        {"params": [body.bias], **slow},
        {"params": [head.weight], **decay},
        {"params": [head.bias]},
    ]
    optimizer = optim.SGD(groups, lr=0.1)
    # --8<-- [part:step]
    for _ in range(3):
        optimizer.zero_grad()
        model.loss(ALL).backward()
        optimizer.step()
    # --8<-- [end:groups]
    keep("groups", model)


def overlap():
    section("overlap")
    # --8<-- [start:overlap]
    model = Net()
    everything = {"params": list(model.parameters())}
    # --8<-- [part:twice]
    again = {"params": [model.head.bias], "lr": 0.01}
    try:
        optim.SGD([everything, again], lr=0.1)
    except ValueError as error:
        print(error)
    # --8<-- [part:typo]
    try:
        model.haed.parameters()
    except AttributeError as error:
        print(error)
    # --8<-- [end:overlap]


def clipping():
    # --8<-- [start:clipping]
    model = Two()
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    model.loss().backward()
    # --8<-- [part:clip]
    clip_grad_norm_(model.parameters(), max_norm=1.0)
    # --8<-- [part:step]
    optimizer.step()
    # --8<-- [end:clipping]
    keep("clipping.configured", model)
    keep("clipping.global", model)

    each = Two()
    each.loss().backward()
    for parameter in each.parameters():
        clip_grad_norm_([parameter], max_norm=1.0)
    optim.SGD(each.parameters(), lr=1.0).step()
    keep("clipping.each", each)


def global_norm():
    section("global-norm")
    # --8<-- [start:global-norm]
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    model.loss(ALL).backward()
    # --8<-- [part:clip]
    norm = clip_grad_norm_(model.parameters(), max_norm=0.25)
    # --8<-- [part:step]
    optimizer.step()
    print(f"norm {norm.item():.4f}")
    # --8<-- [end:global-norm]
    record("global-norm.norm", norm.reshape(1))
    keep("global-norm", model)


# --8<-- [start:rates]
def rates(name, schedule, lr=0.5, steps=7):
    optimizer = optim.SGD([nn.Parameter(torch.zeros(1))], lr)
    scheduler = schedule(optimizer)
    used = []
    for _ in range(steps):
        used.append(optimizer.param_groups[0]["lr"])
        # --8<-- [part:step]
        optimizer.step()
        scheduler.step()
    # --8<-- [part:]
    record(f"rates.{name}", torch.tensor(used, dtype=torch.float64))


# --8<-- [end:rates]


# --8<-- [start:schedules]
def linear(optimizer):
    return LinearLR(optimizer, start_factor=0.25, total_iters=3)


def noam(step):
    step += 1
    return 16**-0.5 * min(step**-0.5, step * 3**-1.5)


def schedules():
    # --8<-- [part:one-line]
    rates("linear", linear)
    rates("exponential", lambda o: ExponentialLR(o, 0.9))
    rates("step", lambda o: StepLR(o, step_size=2))
    rates("cosine", lambda o: CosineAnnealingLR(o, T_max=4))
    # --8<-- [part:noam]
    rates("noam", lambda o: LambdaLR(o, noam))
    # --8<-- [part:product]
    rates(
        "product",
        lambda o: ChainedScheduler([linear(o), ExponentialLR(o, 0.9)]),
    )
    # --8<-- [part:sequence]
    rates(
        "sequence",
        lambda o: SequentialLR(
            o, [linear(o), CosineAnnealingLR(o, T_max=4)], milestones=[3]
        ),
    )
    # --8<-- [part:constant]
    rates("constant", ConstantLR)
    # --8<-- [end:schedules]


def order():
    section("order")
    # --8<-- [start:order]
    optimizer = optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler = ExponentialLR(optimizer, 0.5)
    used = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            # --8<-- [part:step]
            scheduler.step()
            used.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
    # --8<-- [part:]
    print(*used)
    print(str(caught[0].message).split(". ")[0])
    # --8<-- [end:order]
    record("order", torch.tensor(used, dtype=torch.float64))


def high():
    section("high")
    # --8<-- [start:high]
    # --8<-- [part:try]
    for schedule in [
        lambda o: CosineAnnealingLR(o, T_max=4),
        linear,
        lambda o: ExponentialLR(o, 0.9),
        lambda o: StepLR(o, step_size=2),
    ]:
        optimizer = optim.SGD([nn.Parameter(torch.zeros(1))], lr=2.0)
        scheduler = schedule(optimizer)
        rate = optimizer.param_groups[0]["lr"]
        print(type(scheduler).__name__, "begins with", rate)
    # --8<-- [part:product]
    rates("high", lambda o: CosineAnnealingLR(o, T_max=4), lr=2.0)
    # --8<-- [end:high]


# --8<-- [start:accumulated]
def accumulated(parts, divide):
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for part in parts:
        loss = model.loss(part) / divide
        # --8<-- [part:add]
        loss.backward()
    # --8<-- [part:step]
    optimizer.step()
    return model


# --8<-- [part:calls]
def accumulate():
    halves = [slice(0, 5), slice(5, 10)]
    keep("accumulate.whole", accumulated([ALL], 1))
    keep("accumulate.sum", accumulated(halves, 1))
    keep("accumulate.mean", accumulated(halves, 2))
    # --8<-- [end:accumulated]


def learner():
    # --8<-- [start:learner]
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scheduler = ExponentialLR(optimizer, 0.5)
    batches = [slice(k, k + 2) for k in range(0, 10, 2)]
    for k, batch in enumerate(batches, start=1):
        model.loss(batch).backward()
        # --8<-- [part:every]
        if k % 2 == 0 or k == len(batches):
            # --8<-- [part:]
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    # --8<-- [end:learner]
    keep("learner", model)


# --8<-- [start:own]
# --8<-- [part:settings]
class Signum(optim.Optimizer):
    def __init__(self, params, lr, beta=0.75):
        super().__init__(params, {"lr": lr, "beta": beta})

    # --8<-- [part:step]
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta = group["beta"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                # --8<-- [part:state]
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                # --8<-- [part:formula]
                mean = state["mean"]
                mean.mul_(beta).add_(p.grad * (1 - beta))
                p.sub_(mean.sign() * group["lr"])


# --8<-- [end:own]


# --8<-- [start:own-run]
def signed(steps, stop=None):
    model = Net()
    optimizer = Signum(model.parameters(), lr=0.01)
    for k in range(steps):
        if k == stop:
            # --8<-- [part:save]
            saved = optimizer.state_dict()
            optimizer = Signum(model.parameters(), lr=0.01)
            optimizer.load_state_dict(saved)
        # --8<-- [part:step]
        optimizer.zero_grad()
        model.loss(ALL).backward()
        optimizer.step()
    return model


# --8<-- [end:own-run]


def own():
    keep("own.straight", signed(20))
    keep("own.resumed", signed(20, stop=10))


def foreign():
    section("foreign")
    # --8<-- [start:foreign]
    model = Net()
    # --8<-- [part:save]
    signum = Signum(model.parameters(), lr=0.01)
    model.loss(ALL).backward()
    signum.step()
    saved = signum.state_dict()
    print(len(saved["state"]), "tensors")
    # --8<-- [part:load]
    adam = optim.Adam(model.parameters())
    try:
        adam.load_state_dict(saved)
    except KeyError as error:
        print("KeyError", error)
    # --8<-- [end:foreign]


def tied():
    section("tied")
    # --8<-- [start:tied]
    model = Two()
    # --8<-- [part:tie]
    model.second = model.first
    # --8<-- [part:loop]
    optimizer = optim.SGD(model.parameters(), lr=0.25)
    for _ in range(2):
        optimizer.zero_grad()
        model.loss().backward()
        optimizer.step()
        # --8<-- [part:print]
        print(model.first.item(), model.second.item())
    # --8<-- [end:tied]
    note("tied", torch.cat([model.first, model.second]))
    record("once", model.first)


match sys.argv[1:]:
    case []:
        walk()
        keep("start", Net())
        missing()
        halves()
        groups()
        overlap()
        clipping()
        global_norm()
        schedules()
        order()
        high()
        accumulate()
        learner()
        own()
        foreign()
    case ["tied"]:
        tied()
