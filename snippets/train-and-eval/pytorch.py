"""Layers that behave differently in training and in evaluation: dropout, batch norm, and who switches them."""

import copy
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:fill]
def fill(f, *shape):
    """f(0), f(1), … computed in float64 and rounded once."""
    values = [f(i) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


# --8<-- [end:fill]


def show(values):
    return " ".join(f"{x:.4f}" for x in torch.as_tensor(values).flatten())


def dropout():
    section("dropout")
    torch.manual_seed(1)
    # --8<-- [start:dropout]
    # --8<-- [part:layer]
    drop = nn.Dropout(0.3)
    # --8<-- [part:forward]
    x = fill(lambda i: 2 + math.sin(i), 20_000).requires_grad_()
    y = drop(x)
    # --8<-- [part:gradient]
    y.sum().backward()
    factor = x.grad
    factors = factor.unique()
    # --8<-- [part:]
    kept = (y != 0).float().mean()
    print(f"kept {kept:.3f}")
    print(f"mean before {x.mean():.4f}, after {y.mean():.4f}")
    print(f"factors {show(factors)}")
    # --8<-- [end:dropout]
    note("dropout.n", x.numel())
    note("dropout.kept", kept)
    note("dropout.mean", [x.mean().item(), y.mean().item()])
    # The largest share of the mean's variance that a factor can bring.
    note("dropout.square", (x.double() ** 2).mean())
    note("dropout.same", (y == x * factor).sum())
    record("dropout.factors", factors)


def batch_norm():
    section("batch-norm")
    # --8<-- [start:batch-norm]
    # --8<-- [part:layer]
    norm = nn.BatchNorm1d(1)
    # --8<-- [part:forward]
    y = norm(torch.tensor([[1.0], [2.0], [3.0], [6.0]]))
    # --8<-- [part:statistics]
    mean, var = norm.running_mean, norm.running_var
    # --8<-- [part:]
    print("output", show(y))
    print("running mean", show(mean))
    print("running var ", show(var))
    # --8<-- [end:batch-norm]
    record("batch.output", y)
    record("batch.running_mean", mean)
    record("batch.running_var", var)


def momentum():
    """The running mean and variance of a new layer after one batch, for three momenta."""
    for m in (0.0, 0.1, 1.0):
        norm = nn.BatchNorm1d(1, momentum=m)
        norm(torch.tensor([[1.0], [2.0], [3.0], [6.0]]))
        record(f"momentum.mean.{m:.1f}", norm.running_mean)
        record(f"momentum.var.{m:.1f}", norm.running_var)


def gradients():
    section("gradients")
    # --8<-- [start:gradients]
    # --8<-- [part:layer]
    norm = nn.BatchNorm2d(3)
    # --8<-- [part:input]
    x = fill(lambda i: math.sin(0.7 * i), 4, 3, 2, 5).requires_grad_()
    w = fill(lambda i: math.cos(0.3 * i), 4, 3, 2, 5)
    # --8<-- [part:backward]
    y = norm(x)
    (y * w).sum().backward()
    # --8<-- [part:read]
    dx, dgamma, dbeta = x.grad, norm.weight.grad, norm.bias.grad
    # --8<-- [part:]
    print("d/d gamma", show(dgamma))
    print("d/d beta ", show(dbeta))
    print("d/d x    ", show(dx[0, 0, 0]))
    # --8<-- [end:gradients]
    record("grad.output", y)
    record("grad.x", dx)
    record("grad.gamma", dgamma)
    record("grad.beta", dbeta)
    with torch.no_grad():
        norm.running_mean.copy_(fill(lambda i: math.sin(i + 1.0), 3))
        norm.running_var.copy_(fill(lambda i: 2 + math.cos(i), 3))
        record("carried.output", norm.eval()(x))


# --8<-- [start:block]
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(self.norm(x))


def distinct(y):
    """The different values of y, to four digits, in order."""
    return ((y.detach() * 1e4).round() + 0.0).unique() / 1e4


# --8<-- [end:block]


def modes():
    section("modes")
    torch.manual_seed(1)
    # --8<-- [start:modes]
    x = torch.tensor([1.0, 2.0, 3.0, 6.0]).repeat(64).reshape(-1, 1)

    def out(name, switch):
        block = Block()
        switch(block)
        y = distinct(block(x))
        print(f"{name:17}", *(f"{v:.2f}" for v in y))
        return y

    # --8<-- [part:train]
    train = out("train()", lambda b: b.train())
    # --8<-- [part:valid]
    valid = out("eval()", lambda b: b.eval())
    # --8<-- [part:half]
    half = out("norm.eval()", lambda b: b.norm.eval())
    # --8<-- [part:frozen]
    frozen = out("requires_grad_", lambda b: b.requires_grad_(False))
    # --8<-- [part:]
    # --8<-- [end:modes]
    record("modes.train", train)
    record("modes.valid", valid)
    record("modes.half", half)
    note("modes.requires_grad_", frozen)


# --8<-- [start:net]
TRAIN, VALID, FEATURES, HIDDEN = 96, 32, 4, 8
BATCH, EPOCHS, LR = 16, 3, 0.1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, HIDDEN)
        self.norm = nn.BatchNorm1d(HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, 1)
        self.set(self.fc1, 0.3)
        self.set(self.fc2, 0.7)

    def set(self, layer, scale):
        shape = layer.weight.shape
        w = fill(lambda i: scale * math.sin(i + 1.0), *shape)
        layer.weight.data.copy_(w)
        layer.bias.data.zero_()

    def forward(self, x):
        return self.fc2(F.relu(self.norm(self.fc1(x))))


# --8<-- [end:net]


# --8<-- [start:data]
def data(start, n):
    """x (n, FEATURES) and its target (n, 1), from row `start` on."""

    def x(k, j):
        return math.sin(0.37 * (start + k) + 1.3 * j)

    rows = fill(lambda i: x(*divmod(i, FEATURES)), n, FEATURES)
    return rows, fill(lambda k: x(k, 0) * x(k, 1), n, 1)


# --8<-- [end:data]


# --8<-- [start:epoch]
def epoch(model, optimizer):
    """Train on every batch once; the losses."""
    # --8<-- [part:train]
    model.train()
    # --8<-- [part:]
    losses = []
    for start in range(0, TRAIN, BATCH):
        # --8<-- [part:forward]
        x, target = data(start, BATCH)
        loss = F.mse_loss(model(x), target)
        losses.append(loss.item())
        # --8<-- [part:backward]
        optimizer.zero_grad()
        loss.backward()
        # --8<-- [part:step]
        optimizer.step()
        # --8<-- [part:]
    return losses


def validate(model):
    # --8<-- [part:valid]
    model.eval()
    # --8<-- [part:]
    x, target = data(TRAIN, VALID)
    with torch.no_grad():
        return F.mse_loss(model(x), target).item()


# --8<-- [end:epoch]


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=LR)


def training():
    section("training")
    # --8<-- [start:training]
    model = Net()
    optimizer = sgd(model)
    losses, scores, untouched = [], [], True
    for _ in range(EPOCHS):
        losses += epoch(model, optimizer)
        before = model.norm.running_mean.clone()
        scores.append(validate(model))
        untouched &= bool((model.norm.running_mean == before).all())
    print("last training loss", show(losses[-1]))
    print("validation", show(scores))
    # --8<-- [end:training]
    note("untouched", untouched)
    record("train_loss", losses)
    record("valid_loss", scores)
    for name in ("mean", "var"):
        record(f"running.{name}", getattr(model.norm, f"running_{name}"))
    record("converted.var", model.norm.running_var)
    x, _ = data(TRAIN, VALID)
    record("converted.output", model(x))
    record("converted.loss", scores[-1])


def ways():
    """Validation done right and wrong, on a model after one epoch."""
    section("ways")
    # --8<-- [start:ways]
    model = Net()
    epoch(model, sgd(model))

    def loss(name):
        x, target = data(TRAIN, VALID)
        with torch.no_grad():
            loss = F.mse_loss(model(x), target)
        print(f"{name:16} {loss:.6f}")
        return loss

    # --8<-- [part:right]
    model.eval()
    right = loss("eval()")
    # --8<-- [part:forgotten]
    model.train()
    before = model.norm.running_mean.clone()
    forgotten = loss("eval() forgotten")
    # --8<-- [part:]
    moved = bool((model.norm.running_mean != before).any())
    print("running mean moved:", moved)
    # --8<-- [end:ways]
    note("ways.right", right)
    note("ways.forgotten", forgotten)
    note("ways.moved", moved)


def saved():
    section("saved")
    # --8<-- [start:saved]
    # --8<-- [part:forward]
    norm = nn.BatchNorm1d(1)
    norm(torch.tensor([[1.0], [2.0], [3.0], [6.0]]))
    # --8<-- [part:save]
    torch.save(norm.state_dict(), "norm.pt")
    # --8<-- [part:load]
    other = nn.BatchNorm1d(1)
    other.load_state_dict(torch.load("norm.pt"))
    # --8<-- [part:]
    print("in the layer", show(norm.running_mean))
    print("in the file ", show(other.running_mean))
    # --8<-- [end:saved]
    note("saved.layer", norm.running_mean)
    note("saved.file", other.running_mean)


def loaded_over():
    """What a layer that has trained holds after a fresh layer's state was loaded into it."""
    used = nn.BatchNorm1d(1)
    used(torch.tensor([[1.0], [2.0], [3.0], [6.0]]))
    used.load_state_dict(nn.BatchNorm1d(1).state_dict())
    note("loaded.mean", used.eval().running_mean)


def neighbours():
    """The layers next to these two, with their defaults."""

    def parameters(layer):
        return sum(p.numel() for p in layer.parameters())

    squares = fill(lambda i: i * i, 2, 4, 3)
    small = torch.tensor([1e-3, 2e-3, 4e-3])
    record("layer.output", nn.LayerNorm(3)(torch.tensor([1.0, 2.0, 4.0])))
    record("group.output", nn.GroupNorm(2, 4)(squares))
    record("instance.output", nn.InstanceNorm1d(4)(squares))
    note("instance.parameters", parameters(nn.InstanceNorm1d(3)))
    note("batch.parameters", parameters(nn.BatchNorm1d(3)))
    record("rms.default", nn.RMSNorm(3)(small))
    record("rms.same_epsilon", nn.RMSNorm(3, eps=1e-5)(small))
    third = torch.tensor([1 / 3, 2 / 3, 4 / 3], dtype=torch.float64)
    rms = nn.RMSNorm(3, eps=1e-5, dtype=torch.float64)
    record("rms.f64", rms(third))


def batch_of_one():
    section("batch-of-one")
    # --8<-- [start:batch-of-one]
    norm = nn.BatchNorm1d(2)
    try:
        y = norm(torch.tensor([[1.0, 2.0]]))
        print("output", show(y))
    except ValueError as error:
        print(error)
    print("running var", show(norm.running_var))
    # --8<-- [end:batch-of-one]
    note("var", norm.running_var)


def none_kept():
    section("none-kept")
    # --8<-- [start:none-kept]
    drop = nn.Dropout(1.0)
    y = drop(torch.ones(4))
    print("output", show(y))
    # --8<-- [end:none-kept]


def best():
    section("best")
    # --8<-- [start:best]
    model = Net()
    optimizer = sgd(model)
    epoch(model, optimizer)
    best = copy.deepcopy(model)
    same = model.state_dict()  # no copy
    weight = model.fc1.weight.clone()
    mean = model.norm.running_mean.clone()
    epoch(model, optimizer)

    moved = bool((best.fc1.weight != weight).any())
    print("weights moved:", moved)
    mean_moved = bool((best.norm.running_mean != mean).any())
    print("running mean moved:", mean_moved)
    both = [
        bool((same["fc1.weight"] != weight).any()),
        bool((same["norm.running_mean"] != mean).any()),
    ]
    print("both in state_dict() moved:", all(both))
    # --8<-- [end:best]
    note("moved", [moved, mean_moved, *both])


match sys.argv[1:]:
    case []:
        dropout()
        batch_norm()
        momentum()
        gradients()
        modes()
        training()
        ways()
        saved()
        loaded_over()
        neighbours()
    case ["batch-of-one"]:
        batch_of_one()
    case ["none-kept"]:
        none_kept()
    case ["best"]:
        best()
