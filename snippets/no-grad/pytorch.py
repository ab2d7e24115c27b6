"""What is tracked, for how long, and what the graph holds meanwhile."""

import copy
import math
import sys
import weakref

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from lesson import note, record, section

torch.set_num_threads(1)

# --8<-- [start:task]
BATCH, FEATURES, WIDTH = 8, 4, 6
STEPS, LR, PENALTY = 20, 0.1, 0.01


# --8<-- [part:body]
class Body(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.fc2(F.relu(self.fc1(x))))


# --8<-- [part:net]
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = Body(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.body(x))


# --8<-- [end:task]


def wave(phase, scale, *shape):
    """scale * sin(0.7 i + phase), computed in float64 and rounded once."""
    count = math.prod(shape)
    values = [scale * math.sin(0.7 * i + phase) for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def build(width=WIDTH):
    model = Net(width)
    layers = model.body.fc1, model.body.fc2, model.head
    with torch.no_grad():
        for phase, layer in enumerate(layers):
            scale = 1 / math.sqrt(layer.in_features)
            layer.weight.copy_(wave(phase, scale, *layer.weight.shape))
            layer.bias.zero_()
    return model


def task():
    """Inputs (BATCH, FEATURES) and targets (BATCH, 1)."""
    return wave(0.3, 1, BATCH, FEATURES), wave(0.5, 1, BATCH, 1)


def switches(x):
    section("switches")
    seen = []

    def look(state, y):
        tracked, weight = y.requires_grad, model.head.weight.requires_grad
        print(f"{state:24} output {tracked!s:5}  weight {weight}")
        seen.append(tracked)

    # --8<-- [start:switches]
    model = build()
    look("as built", model(x))
    # --8<-- [part:off]
    with torch.no_grad():
        y = model(x)
        look("inside no_grad()", y)
    # --8<-- [part:after]
    look("after it", model(x))
    # --8<-- [part:lasting]
    model.requires_grad_(False)
    look("requires_grad_(False)", model(x))
    model.eval().train()
    look("then eval(), train()", model(x))
    # --8<-- [part:back]
    model.requires_grad_(True)
    look("requires_grad_(True)", model(x))
    # --8<-- [end:switches]
    record("switches.tracked", seen)
    record("switches.y", model(x))

    # --8<-- [start:by-name]
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("body" not in name)
    # --8<-- [end:by-name]
    layers = model.body.fc1, model.head
    note("switches.by_name", [layer.weight.requires_grad for layer in layers])
    record("switches.y_off", y)


def inference(x):
    section("inference")
    # --8<-- [start:inference]
    model = build()
    with torch.inference_mode():
        features = model.body(x)
        with torch.enable_grad():
            print("enable_grad inside:", model(x).requires_grad)
    with torch.no_grad(), torch.enable_grad():
        print("the same in no_grad:", model(x).requires_grad)
    try:
        model.head(features)
    except RuntimeError as error:
        print(str(error).split(".")[0])
    print("of a clone:", model.head(features.clone()).requires_grad)
    # --8<-- [end:inference]
    note("inference.tracked", model.head(features.clone()).requires_grad)


def mixed(x, t):
    section("mixed")
    # --8<-- [start:mixed]
    model = build()
    # --8<-- [part:features]
    with torch.no_grad():
        features = model.body(x)
    print("features tracked:", features.requires_grad)
    # --8<-- [part:head]
    y = model.head(features)
    print("output tracked:", y.requires_grad)
    # --8<-- [part:backward]
    F.mse_loss(y, t).backward()
    gradient = model.head.weight.grad
    print("body has a gradient:", model.body.fc1.weight.grad is not None)
    # --8<-- [end:mixed]
    record("mixed.gradient", gradient)


def through(x, t):
    section("through")
    # --8<-- [start:through]
    # --8<-- [part:freeze]
    model = build().requires_grad_(False)
    # --8<-- [part:input]
    x = x.clone().requires_grad_()
    F.mse_loss(model(x), t).backward()
    # --8<-- [part:look]
    print("weight has a gradient:", model.head.weight.grad is not None)
    print("input has a gradient:", x.grad is not None)
    # --8<-- [end:through]
    record("through.gradient", x.grad)


def freeze(x, t):
    section("freeze")
    # --8<-- [start:freeze]
    model = build()
    # --8<-- [part:freeze]
    model.body.requires_grad_(False)
    # --8<-- [part:optimizer]
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, weight_decay=PENALTY)
    losses = []
    for _ in range(STEPS):
        # --8<-- [part:backward]
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), t)
        loss.backward()
        # --8<-- [part:step]
        optimizer.step()
        losses.append(loss.item())
    # --8<-- [part:look]
    have = [p for p in model.parameters() if p.grad is not None]
    print(f"{len(have)} of {len(list(model.parameters()))} have a gradient")
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    # --8<-- [end:freeze]
    record("freeze.losses", losses)
    record("freeze.counts", [len(have), len(list(model.parameters()))])
    record("freeze.head", model.head.weight)
    record("freeze.body", model.body.fc1.weight)
    record("task.body", build().body.fc1.weight)

    whole, part = build(), build()
    part.body.requires_grad_(False)
    for name, net in (("whole", whole), ("part", part)):
        F.mse_loss(net(x), t).backward()
        record(f"freeze.gradient.{name}", net.head.weight.grad)
    record("freeze.gradient.body", whole.body.fc1.weight.grad)


# --8<-- [start:held]
BIG = 128, 512  # the shape of one activation of the big network


class Saved:
    """What the graph keeps of a tensor. It must not keep the graph."""

    def __init__(self, tensor):
        self.tensor = tensor.detach()


saved = weakref.WeakSet()


def pack(tensor):
    kept = Saved(tensor)
    saved.add(kept)
    return kept


def held():
    """How many activations the graphs alive keep for backward."""
    blocks = {k.tensor.data_ptr() for k in saved if k.tensor.shape == BIG}
    return len(blocks)


# --8<-- [end:held]


def big_loss(model):
    x, t = wave(0.3, 1, BIG[0], FEATURES), wave(0.5, 1, BIG[0], 1)
    return F.mse_loss(model(x), t)


def graph():
    section("graph")

    def show(state, model):
        # --8<-- [start:measure]
        loss = big_loss(model)
        before = held()
        if loss.requires_grad:
            loss.backward()
        # --8<-- [end:measure]
        print(f"{state:16} {before}, after backward {held()}")
        counts.append(before)
        after.append(held())

    counts, after = [], []
    # --8<-- [start:graph]
    model = build(width=BIG[1])
    show("all trained", model)
    # --8<-- [part:head]
    model.head.requires_grad_(False)
    show("head frozen", model)
    model.head.requires_grad_(True)
    # --8<-- [part:body]
    model.body.requires_grad_(False)
    show("body frozen", model)
    model.body.requires_grad_(True)
    # --8<-- [part:off]
    with torch.no_grad():
        show("no_grad()", model)
    # --8<-- [end:graph]
    record("graph.held", counts)
    record("graph.after", after)


def kept_by_relu():
    section("relu")
    # --8<-- [start:relu]
    x = wave(0.3, 1, *BIG).requires_grad_()
    # --8<-- [part:relu]
    y = F.relu(x * 2)
    # --8<-- [part:look]
    kept = y.grad_fn._saved_result
    alive = {y.data_ptr(), kept.data_ptr()}
    print("alive beside x:", len(alive))
    # --8<-- [end:relu]
    record("relu.alive", [len(alive)])
    note("relu.held", held())


def evaluation():
    section("evaluation")
    model = build(width=BIG[1])

    def watch(name, way, add):
        total, counts = torch.zeros(()), []
        for _ in range(4):
            total = add(total)
            counts.append(held())
        print(f"{way:22}", *(f"{n:3}" for n in counts))
        record(f"evaluation.{name}", counts)

    # --8<-- [start:evaluation]
    watch("total", "total + loss", lambda total: total + big_loss(model))
    # --8<-- [part:detach]
    watch(
        "detach",
        "total + loss.detach()",
        lambda total: total + big_loss(model).detach(),
    )
    # --8<-- [part:item]
    watch(
        "item",
        "total + loss.item()",
        lambda total: total + big_loss(model).item(),
    )
    # --8<-- [part:off]
    with torch.no_grad():
        watch("off", "in no_grad()", lambda total: total + big_loss(model))
    # --8<-- [end:evaluation]

    # --8<-- [start:training]
    def train_and_add(total):
        loss = big_loss(model)
        loss.backward()
        return total + loss

    watch("training", "with backward", train_and_add)
    # --8<-- [end:training]


def distil():
    section("distil")
    x = wave(0.3, 1, BIG[0], FEATURES)

    # --8<-- [start:distil]
    def distil(name, teacher):
        student = build()
        counts = []
        for _ in range(4):
            # --8<-- [part:goal]
            goal = teacher(x).detach()
            # --8<-- [part:loss]
            F.mse_loss(student(x), goal).backward()
            # --8<-- [part:held]
            counts.append(held())
        print(f"{name:16} {counts}")
        return counts

    # --8<-- [part:call]
    teacher = build(width=BIG[1])
    tracked = distil("as it is", teacher)
    # --8<-- [end:distil]
    record("teacher.tracked", tracked)


GAMMA, DECAY = 0.9, 0.9


def target(x, t):
    section("target")
    # --8<-- [start:target]
    online = build()
    # --8<-- [part:snapshot]
    snapshot = copy.deepcopy(online).requires_grad_(False)
    # --8<-- [part:goal]
    goal = t + GAMMA * snapshot(x.flip(0))
    F.mse_loss(online(x), goal).backward()
    right = online.head.weight.grad
    # --8<-- [part:forgotten]
    online.zero_grad()
    goal = t + GAMMA * online(x.flip(0))
    F.mse_loss(online(x), goal).backward()
    forgotten = online.head.weight.grad
    # --8<-- [part:look]
    print(f"first entry {right[0, 0]:.6f}")
    print(f"forgotten   {forgotten[0, 0]:.6f}")
    # --8<-- [end:target]
    record("target.right", right)
    record("target.forgotten", forgotten)


def average(x, t):
    section("average")
    # --8<-- [start:average]
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    # --8<-- [part:start]
    mean = model.head.weight.detach().clone()
    chain = model.head.weight.clone()
    for _ in range(STEPS):
        # --8<-- [part:step]
        optimizer.zero_grad()
        F.mse_loss(model(x), t).backward()
        optimizer.step()
        # --8<-- [part:mean]
        weight = model.head.weight.detach()
        mean = mean * DECAY + weight * (1 - DECAY)
        # --8<-- [part:chain]
        chain = chain * DECAY + model.head.weight * (1 - DECAY)
    # --8<-- [part:look]
    print("mean tracked:", mean.requires_grad)
    print("chain tracked:", chain.requires_grad)
    # --8<-- [end:average]
    record("average.mean", mean)
    note("average.followed", follows(x, t))
    note("average.same", torch.equal(mean, chain))
    note("average.nodes", nodes(chain.grad_fn))


def follows(x, t):
    """Whether a detached weight changes with the parameter."""
    model = build()
    start = model.head.weight.detach()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    F.mse_loss(model(x), t).backward()
    optimizer.step()
    return torch.equal(start, model.head.weight)


def nodes(root):
    """How many nodes a graph has from `root` on."""
    found, ahead = set(), [root]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in found:
            found.add(node)
            ahead += [parent for parent, _ in node.next_functions]
    return len(found)


def late():
    section("late")
    x, t = task()
    # --8<-- [start:late]
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    # --8<-- [part:backward]
    F.mse_loss(model(x), t).backward()
    # --8<-- [part:freeze]
    model.body.requires_grad_(False)
    before = model.body.fc1.weight.clone()
    # --8<-- [part:step]
    optimizer.step()
    # --8<-- [part:look]
    moved = (model.body.fc1.weight - before).abs().max()
    print(f"the frozen layer moved by {moved:.6f}")
    # --8<-- [end:late]
    note("late.moved", moved)

    section("mended")
    # --8<-- [start:mended]
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    F.mse_loss(model(x), t).backward()
    model.body.requires_grad_(False)
    model.body.zero_grad()
    optimizer.step()
    moved = (model.body.fc1.weight - before).abs().max()
    print(f"the frozen layer moved by {moved:.6f}")
    # --8<-- [end:mended]
    note("mended.moved", moved)


def leaf():
    section("leaf")
    x, _ = task()
    # --8<-- [start:leaf]
    with torch.inference_mode():
        features = build().body(x)
    features.requires_grad_()
    # --8<-- [end:leaf]


def main():
    x, t = task()
    record("task.x", x)
    record("task.t", t)
    switches(x)
    inference(x)
    mixed(x, t)
    through(x, t)
    freeze(x, t)
    with saved_tensors_hooks(pack, lambda kept: kept.tensor):
        graph()
        kept_by_relu()
        evaluation()
        distil()
    target(x, t)
    average(x, t)


match sys.argv[1:]:
    case []:
        main()
    case ["late"]:
        late()
    case ["leaf"]:
        leaf()
