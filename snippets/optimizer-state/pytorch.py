"""What an optimizer remembers, where it keeps it, and what becomes of it when the model is saved, loaded or copied."""

import copy
import inspect
import json
import math
import sys
from functools import partial

import torch
from torch import nn
from torch.optim import (
    LBFGS,
    SGD,
    Adafactor,
    Adagrad,
    Adam,
    AdamW,
    Muon,
    RMSprop,
)

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:knobs]
# --8<-- [part:module]
class Knobs(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.zeros(1))
        self.shift = nn.Parameter(torch.zeros(1))

    # --8<-- [part:loss]
    def loss(self, slopes):
        """The gradients of this loss are the two slopes."""
        gain, shift = slopes
        return self.gain * gain + self.shift * shift


# --8<-- [part:steps]
def advance(model, optimizer, slopes):
    for both in slopes:
        optimizer.zero_grad()
        model.loss(both).backward()
        optimizer.step()


# --8<-- [end:knobs]

# --8<-- [start:settings]
LR = 0.1
SLOPES = [(1.0, 0.1), (0.5, 0.1), (0.1, 0.5), (0.1, 1.0)]

momentum = partial(SGD, lr=LR, momentum=0.9)
adam = partial(Adam, lr=LR)
adamw = partial(AdamW, lr=LR)
# --8<-- [end:settings]


def values(model):
    return [model.gain.item(), model.shift.item()]


# --8<-- [start:kept]
def kept(name, new):
    """Make one step with one tensor, and list what there is to remember."""
    tensor = nn.Parameter(torch.zeros(3))
    tensor.grad = torch.ones(3)
    optimizer = new([tensor])
    optimizer.step()
    state = optimizer.state[tensor]

    print(name)
    for key, value in state.items():
        match value:
            case torch.Tensor() if value.dim() == 0:
                print(f"  {key} = {value.item()}")
            case torch.Tensor():
                print(f"  {key} {list(value.shape)}")
            case _:
                print(f"  {key} = {value}")
    tensors = [x for x in state.values() if torch.is_tensor(x) and x.dim()]
    record(f"kept.{name}", len(tensors))


# --8<-- [end:kept]


def keys():
    section("keys")
    # --8<-- [start:keys]
    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    keys = list(optimizer.state)
    print("the keys are the parameters:", keys[0] is model.gain)
    twin = copy.deepcopy(model)
    print("the copy's is a key:", twin.gain in optimizer.state)

    saved = optimizer.state_dict()
    print("saved under:", list(saved["state"]))
    settings = saved["param_groups"][0]
    print("saved as well:", {k: settings[k] for k in ("lr", "betas", "eps")})
    # --8<-- [end:keys]


STEPS = 100


def waves():
    return [
        (math.cos(0.3 * k), 0.01 + 0.1 * math.sin(0.7 * k))
        for k in range(STEPS)
    ]


# --8<-- [start:resume]
def trace(name, new, stop=None):
    """Both knobs after each step, stopped and taken up again at `stop`."""
    model = Knobs()
    optimizer = new(model.parameters())
    rows = []
    for k, both in enumerate(waves()):
        if k == stop:
            # --8<-- [part:save]
            torch.save(model.state_dict(), f"{name}-model.pt")
            torch.save(optimizer.state_dict(), f"{name}-optimizer.pt")
            # --8<-- [part:load]
            # nothing is left of these two but the files
            model = Knobs()
            model.load_state_dict(torch.load(f"{name}-model.pt"))
            optimizer = new(model.parameters())
            optimizer.load_state_dict(torch.load(f"{name}-optimizer.pt"))
            # --8<-- [part:]
        advance(model, optimizer, [both])
        rows.append(values(model))
    return rows


# --8<-- [end:resume]


def resume():
    for name, new in [("momentum", momentum), ("adam", adam), ("adamw", adamw)]:
        record(f"straight.{name}", trace(name, new))
        record(f"resumed.{name}", trace(name, new, stop=STEPS // 2))


# --8<-- [start:copies]
def continued(copied):
    """Three steps, a copy of the model, a fourth step: both knobs."""
    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    model, optimizer = copied(model, optimizer)
    advance(model, optimizer, SLOPES[3:])
    return values(model)


def same_optimizer(model, optimizer):
    return copy.deepcopy(model), optimizer


def new_optimizer(model, optimizer):
    model = copy.deepcopy(model)
    return model, adam(model.parameters())


def new_optimizer_old_state(model, old):
    model = copy.deepcopy(model)
    optimizer = adam(model.parameters())
    optimizer.load_state_dict(old.state_dict())
    return model, optimizer


# --8<-- [end:copies]


def copies():
    section("copied")
    # --8<-- [start:copied]
    ways = {
        "itself": continued(lambda model, optimizer: (model, optimizer)),
        "same_optimizer": continued(same_optimizer),
        "new_optimizer": continued(new_optimizer),
        "old_state": continued(new_optimizer_old_state),
    }
    for name, (gain, shift) in ways.items():
        print(f"{name:14} {gain:.5f} {shift:.5f}")
    # --8<-- [end:copied]
    model = Knobs()
    advance(model, adam(model.parameters()), SLOPES[:3])
    before = values(model)
    for name, both in ways.items():
        note(f"copied.{name}", both)
    note("copied.before", before)
    record("copies.straight", ways["itself"])
    record("copies.continued", ways["old_state"])
    record("copies.restarted", ways["new_optimizer"])


def resettled():
    section("resettled")
    # --8<-- [start:resettled]
    # --8<-- [part:three-steps]
    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    saved = optimizer.state_dict()

    # --8<-- [part:other-settings]
    optimizer = Adam(model.parameters(), lr=LR, betas=(0.5, 0.999))
    optimizer.load_state_dict(saved)
    print("betas", optimizer.param_groups[0]["betas"])
    # --8<-- [part:fourth-step]
    advance(model, optimizer, SLOPES[3:])
    print(f"gain {model.gain.item():.5f}, shift {model.shift.item():.5f}")
    # --8<-- [end:resettled]
    record("resettled", values(model))

    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    optimizer.param_groups[0]["betas"] = (0.5, 0.999)
    advance(model, optimizer, SLOPES[3:])
    record("resettled.again", values(model))


# --8<-- [start:walk]
def walk(names, new, start, gradients):
    """A tensor after each step, for as many steps as there are gradients."""
    dtype = torch.get_default_dtype()
    tensor = nn.Parameter(torch.tensor(start, dtype=torch.float64).to(dtype))
    optimizer = new([tensor])
    rows = []
    for gradient in gradients:
        gradient = torch.tensor(gradient, dtype=torch.float64)
        tensor.grad = gradient.to(dtype)
        optimizer.step()
        rows.append(tensor.detach().clone())
    for name in names:
        record(name, torch.stack(rows))


# --8<-- [end:walk]


# --8<-- [start:case]
def case(name, new, start, gradient, steps):
    """burn records two kinds, its defaults and ours: each is compared."""
    names = (f"default.{name}", f"set.{name}")
    walk(names, new, start, [gradient] * steps)


# --8<-- [end:case]


# --8<-- [start:cases]
def cases():
    step, small = partial(Adam, lr=1e-3), [1e-6, 1.0]
    case("adam", step, [0.0, 0.0], small, steps=1)
    decayed = partial(Adam, lr=0.1, weight_decay=0.1)
    case("adam-l2", decayed, [1.0, 1.0], [0.0, 0.0], steps=1)
    decayed = partial(AdamW, lr=0.1)
    case("adamw", decayed, [1.0, 1.0], [0.0, 0.0], steps=1)
    heavy = partial(SGD, lr=1.0, momentum=0.9)
    case("momentum", heavy, [0.0, 0.0], [1.0, 1.0], steps=3)
    case("adagrad", Adagrad, [0.0, 0.0], [1e-4, 1.0], steps=2)
    case("rmsprop", RMSprop, [0.0, 0.0], [1e-4, 1.0], steps=3)


# --8<-- [end:cases]


def adafactor():
    walk(["same.adafactor"], Adafactor, [1.0, 2.0], [[1e-4, 1.0]] * 3)


# --8<-- [start:defaults]
def defaults():
    section("defaults")
    for cls in (SGD, Adam, AdamW, Adagrad, RMSprop, Muon, Adafactor, LBFGS):
        arguments = inspect.signature(cls).parameters.values()
        said = {a.name: a.default for a in arguments if a.name != "params"}
        print(cls.__name__, json.dumps(said))


# --8<-- [end:defaults]


def muon():
    section("muon")
    # --8<-- [start:muon]
    weight = nn.Linear(2, 8, bias=False).weight
    print("weight", list(weight.shape))
    gradient = torch.tensor([math.sin(k + 1) for k in range(16)])
    for rule in ("original", "match_rms_adamw"):
        nn.init.zeros_(weight)
        optimizer = Muon([weight], lr=1.0, weight_decay=0, adjust_lr_fn=rule)
        weight.grad = gradient.reshape(8, 2)
        optimizer.step()
        print(f"{rule}: length of the step {weight.norm().item():.3f}")
        # --8<-- [end:muon]
        name = rule.removesuffix("_adamw")
        record(f"muon.{name}.same-shape", weight)
        record(f"muon.{name}.linear", weight)


# --8<-- [start:drift]
def drift():
    """A hundred steps with one steady gradient and one that swings."""
    gradients = [[1.0, math.cos(0.3 * k)] for k in range(STEPS)]
    for name, new in {
        "sgd": partial(SGD, lr=0.01),
        "momentum": partial(SGD, lr=0.01, momentum=0.9),
        "adam": partial(Adam, lr=0.01),
        "adamw": partial(AdamW, lr=0.01),
    }.items():
        walk([f"drift.{name}"], new, [1.0, 1.0], gradients)
    # --8<-- [end:drift]
    rounded = torch.tensor(0.9, dtype=torch.float32).item()
    new = partial(SGD, lr=0.01, momentum=rounded)
    walk(["drift.momentum-as-burn"], new, [1.0, 1.0], gradients)
    new = partial(Adam, lr=1e-3)
    walk(["three"], new, [0.0], [[0.1], [0.2], [0.3]])


def reordered():
    section("reordered")

    # --8<-- [start:reordered]
    # --8<-- [part:other-order]
    class Reordered(Knobs):
        def __init__(self):
            nn.Module.__init__(self)
            self.shift = nn.Parameter(torch.zeros(1))
            self.gain = nn.Parameter(torch.zeros(1))

    # --8<-- [part:save]
    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    torch.save(model.state_dict(), "model.pt")
    torch.save(optimizer.state_dict(), "optimizer.pt")

    # --8<-- [part:load]
    model = Reordered()
    model.load_state_dict(torch.load("model.pt"))
    optimizer = adam(model.parameters())
    optimizer.load_state_dict(torch.load("optimizer.pt"))
    print(f"gain {model.gain.item():.5f}, shift {model.shift.item():.5f}")

    # --8<-- [part:fourth-step]
    advance(model, optimizer, SLOPES[3:])
    print(f"gain {model.gain.item():.5f}, shift {model.shift.item():.5f}")
    # --8<-- [end:reordered]
    record("reordered", values(model))

    model = Knobs()
    optimizer = adam(model.parameters())
    advance(model, optimizer, SLOPES[:3])
    saved = optimizer.state_dict()
    saved["state"] = {0: saved["state"][1], 1: saved["state"][0]}
    optimizer.load_state_dict(saved)
    advance(model, optimizer, SLOPES[3:])
    note("swapped", values(model))


match sys.argv[1:]:
    case []:
        section("kept")
        kept("SGD", partial(SGD, lr=LR))
        kept("momentum", momentum)
        kept("Adam", adam)
        kept("AMSGrad", partial(adam, amsgrad=True))
        kept("AdamW", adamw)
        keys()
        resume()
        copies()
        resettled()
        cases()
        adafactor()
        muon()
        drift()
    case ["f64"]:
        torch.set_default_dtype(torch.float64)
        drift()
    case ["defaults"]:
        defaults()
    case ["reordered"]:
        reordered()
