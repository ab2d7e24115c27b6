"""One backward pass: where gradients live, who adds them up, what a tie gets."""

import math
import sys

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:graph]
def wave(f, scale, *shape):
    """scale * f(1), scale * f(2), … computed in float64, rounded once."""
    values = [scale * f(i + 1) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def inputs():
    return wave(math.sin, 1.0, 4, 3)  # (sample, feature)


def weights():
    return wave(math.cos, 0.7, 3, 2)  # (feature, output)


def loss_of(x, w, b):
    y = wave(math.cos, 0.5, len(x), 2)
    return ((x @ w + b).tanh() - y).square().mean()


# --8<-- [end:graph]


def show(t):
    return " ".join(f"{v:.4f}" for v in t.flatten().tolist())


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def styles():
    section("styles")
    # --8<-- [start:styles]
    # --8<-- [part:leaves]
    x = inputs()
    w = weights().requires_grad_()
    b = torch.zeros(2, requires_grad=True)
    # --8<-- [part:forward]
    loss = loss_of(x, w, b)
    # --8<-- [part:backward]
    loss.backward()
    # --8<-- [part:read]
    print(f"loss {loss.item():.6f}")
    print("w", show(w.grad))
    print("b", show(b.grad))
    print("x has a gradient:", x.grad is not None)
    # --8<-- [end:styles]
    record("styles.x", x)
    record("styles.w", w)
    record("styles.loss", loss)
    record("styles.w.grad", w.grad)
    record("styles.b.grad", b.grad)


def slot():
    section("slot")
    # --8<-- [start:slot]
    # --8<-- [part:first]
    x = leaf(1.0, 2.0)
    x.square().sum().backward()
    squares = x.grad
    # --8<-- [part:second]
    x.grad = None
    (x**3).sum().backward()
    cubes = x.grad
    # --8<-- [part:read]
    print("squares", show(squares), "cubes", show(cubes))
    # --8<-- [part:take]
    x.grad = None
    print("still there:", x.grad is not None)
    # --8<-- [end:slot]
    record("slot.squares", squares)
    record("slot.cubes", cubes)


def accumulate():
    section("accumulate")
    # --8<-- [start:accumulate]
    # --8<-- [part:first]
    t = leaf(1.0)
    (2 * t).backward()
    print("after the first", t.grad.item())
    # --8<-- [part:second]
    (3 * t).backward()
    print("after the second", t.grad.item())
    # --8<-- [end:accumulate]
    note("accumulate.second", t.grad)
    record("accumulate.sum", t.grad)


def halves():
    section("halves")
    # --8<-- [start:halves]
    x, w = inputs(), weights().requires_grad_()
    # --8<-- [part:whole]
    x.matmul(w).square().mean().backward()
    whole = w.grad
    # --8<-- [part:halves]
    w.grad = None
    for half in x.chunk(2):
        (half.matmul(w).square().mean() / 2).backward()
    # --8<-- [part:read]
    print("whole ", show(whole))
    print("halves", show(w.grad))
    # --8<-- [end:halves]
    record("halves.whole", whole)
    record("halves.sum", w.grad)


def shared():
    section("shared")

    # --8<-- [start:shared]
    def tied(encoder, decoder):
        """Encode with a matrix, decode with its transpose."""
        x = inputs()
        return ((x @ encoder).tanh() @ decoder.T - x).square().mean()

    # --8<-- [part:once]
    w = weights().requires_grad_()
    tied(w, w).backward()
    # --8<-- [part:twice]
    first = weights().requires_grad_()
    second = weights().requires_grad_()
    tied(first, second).backward()
    # --8<-- [part:read]
    print("shared", show(w.grad))
    print("summed", show(first.grad + second.grad))
    # --8<-- [end:shared]
    record("shared.one", w.grad)
    record("shared.first", first.grad)
    record("shared.second", second.grad)
    record("shared.summed", first.grad + second.grad)


def detach():
    section("detach")
    # --8<-- [start:detach]
    # --8<-- [part:through]
    x = leaf(1.0, 2.0, 3.0)
    y = x.square()
    (y * x).sum().backward()
    print("through y ", show(x.grad))
    # --8<-- [part:cut]
    x.grad = None
    y = x.square().detach()
    (y * x).sum().backward()
    print("y detached", show(x.grad))
    # --8<-- [part:leaf]
    print("y wants gradients:", y.requires_grad)
    print("a detached leaf wants them:", x.detach().requires_grad)
    # --8<-- [end:detach]
    record("detach.cut", x.grad)
    note("detach.result", int(y.requires_grad))
    note("detach.leaf", int(x.detach().requires_grad))
    x.grad = None
    (x.square() * x).sum().backward()
    record("detach.through", x.grad)


def input_gradient():
    section("input")
    # --8<-- [start:input]
    # --8<-- [part:leaves]
    x = inputs().requires_grad_()
    w = weights().requires_grad_()
    b = torch.zeros(2)
    # --8<-- [part:gradient]
    before = loss_of(x, w, b)
    (gradient,) = torch.autograd.grad(before, x)
    # --8<-- [part:step]
    worse = x.detach() + 0.1 * gradient.sign()
    after = loss_of(worse, w, b)
    print(f"loss {before.item():.6f}, then {after.item():.6f}")
    # --8<-- [end:input]
    note("input.slots", [int(t.grad is not None) for t in (x, w)])
    record("input.gradient", gradient)
    record("input.before", before)
    record("input.after", after)


def intermediate():
    section("intermediate")
    # --8<-- [start:intermediate]
    # --8<-- [part:lower]
    x = leaf(1.0, 2.0)
    h = x.square()
    h.retain_grad()
    # --8<-- [part:upper]
    h.exp().sum().backward()
    # --8<-- [part:read]
    print("h", show(h.grad))
    print("x", show(x.grad))
    # --8<-- [end:intermediate]
    record("intermediate.h", h.grad)
    record("intermediate.x", x.grad)


def vector():
    section("vector")
    # --8<-- [start:vector]
    # --8<-- [part:ones]
    x = leaf(1.0, 2.0, 3.0)
    y = 2 * x
    try:
        y.backward()
    except RuntimeError as error:
        print(f"RuntimeError: {error}")
    y.backward(torch.ones(3))
    print("with ones   ", show(x.grad))
    # --8<-- [part:weights]
    x.grad = None
    v = torch.tensor([1.0, 10.0, 100.0])
    (2 * x).backward(v)
    print("with weights", show(x.grad))
    # --8<-- [end:vector]
    record("vector.weights", x.grad)
    x.grad = None
    (2 * x).backward(torch.ones(3))
    record("vector.ones", x.grad)


def forgotten():
    section("forgotten")
    # --8<-- [start:forgotten]
    w = weights().requires_grad_()
    losses = (inputs() @ w).square().mean(dim=1)  # one for each sample
    losses.mean().backward()
    print("mean     ", show(w.grad))
    # --8<-- [part:forgotten]
    w.grad = None
    losses = (inputs() @ w).square().mean(dim=1)
    losses.backward(torch.ones(4))
    print("no mean()", show(w.grad))
    # --8<-- [end:forgotten]
    record("forgotten.sum", w.grad)
    w.grad = None
    (inputs() @ w).square().mean(dim=1).mean().backward()
    record("forgotten.mean", w.grad)


def twice():
    section("twice")
    # --8<-- [start:twice]
    x = leaf(1.0, 2.0)
    h = x.square()
    # --8<-- [part:first]
    h.sum().backward()
    print("first ", show(x.grad))
    # --8<-- [part:second]
    (3 * h).sum().backward()
    print("second", show(x.grad))
    # --8<-- [end:twice]


def together():
    section("together")
    # --8<-- [start:together]
    x = leaf(1.0, 2.0)
    h = x.square()
    # --8<-- [part:both]
    h.sum().backward(retain_graph=True)
    (3 * h).sum().backward()
    # --8<-- [part:]
    print(show(x.grad))
    # --8<-- [end:together]
    record("together", x.grad)


def second_order():
    section("second-order")
    # --8<-- [start:second-order]
    # --8<-- [part:first]
    x = leaf(1.0, 2.0)
    cubes = (x**3).sum()
    (slope,) = torch.autograd.grad(cubes, x, create_graph=True)
    print("slope    ", show(slope))
    # --8<-- [part:second]
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    print("curvature", show(curvature))
    # --8<-- [end:second-order]
    note("curvature", curvature)


def difference():
    section("difference")

    # --8<-- [start:difference]
    def slope(at):
        x = at.requires_grad_()
        (gradient,) = torch.autograd.grad((x**3).sum(), x)
        return gradient

    at, step = torch.tensor([1.0, 2.0]), 2.0**-7
    curvature = (slope(at + step) - slope(at - step)) / (2 * step)
    print("curvature", show(curvature))
    # --8<-- [end:difference]
    record("difference", curvature)


def clipping():
    section("clipping")

    # --8<-- [start:clipping]
    # --8<-- [part:gradients]
    def gradients():
        a, b = leaf(1.0), leaf(1.0)
        (3 * a + 4 * b).sum().backward()
        return a, b

    # --8<-- [part:value]
    value = gradients()
    clip_grad_value_(value, 3.5)
    # --8<-- [part:each]
    each = gradients()
    for tensor in each:
        clip_grad_norm_(tensor, 1.0)
    # --8<-- [part:all]
    whole = gradients()
    clip_grad_norm_(whole, 1.0)
    # --8<-- [part:]
    for name, (a, b) in ("value", value), ("each", each), ("all", whole):
        print(f"{name:5}", show(a.grad), show(b.grad))
    # --8<-- [end:clipping]
    record("clip.value", [t.grad.item() for t in value])
    record("clip.each", [t.grad.item() for t in each])
    record("clip.all", [t.grad.item() for t in whole])


def coefficient():
    section("coefficient")
    # --8<-- [start:coefficient]
    kept = []
    for norm in (1.0, 1e-3, 1e-6):
        t = leaf(1.0)
        (norm * t).backward()
        clip_grad_norm_(t, norm / 2)
        kept.append(t.grad.item() / norm)
        print(f"norm {norm:.6f}: keeps {kept[-1]:.6f}")
    # --8<-- [end:coefficient]
    record("coefficient", kept)


# --8<-- [start:edges]
def edge(name, f, *values):
    x = leaf(*values)
    f(x).sum().backward()
    print(f"{name:9}", " ".join(f"{g:.1f}" for g in x.grad.tolist()))
    record(f"edge.{name}", x.grad)


# --8<-- [end:edges]


def edges():
    section("alike")
    # --8<-- [start:alike]
    edge("relu", F.relu, -1.0, 0.0, 1.0)
    edge("abs", torch.abs, -1.0, 0.0, 1.0)
    edge("prod", torch.prod, 0.0, 2.0, 3.0)
    edge("max_dim", lambda x: x.max(dim=0).values, 2.0, 2.0, 1.0)
    edge("sort", lambda x: x.sort(descending=True).values[0], 2.0, 2.0, 1.0)
    edge("pool", lambda x: F.max_pool1d(x[None], 2), 2.0, 2.0)
    edge("sqrt", torch.sqrt, 0.0, 1.0)
    edge("root", lambda x: x.square().sum().sqrt(), 0.0, 0.0)
    # --8<-- [end:alike]
    section("apart")
    # --8<-- [start:apart]
    edge("max", torch.max, 2.0, 2.0, 1.0)
    edge("min", torch.min, 2.0, 1.0, 1.0)
    edge("amax", lambda x: x.amax(dim=0), 2.0, 2.0, 1.0)
    edge("pair", lambda x: torch.maximum(x[:1], x[1:]), 2.0, 2.0)
    edge("minpair", lambda x: torch.minimum(x[:1], x[1:]), 2.0, 2.0)
    edge("clamp", lambda x: x.clamp(0.0, 1.0), -1.0, 0.0, 0.5, 1.0)
    edge("clampmin", lambda x: x.clamp(min=0.0), -1.0, 0.0, 1.0)
    edge("hardtanh", F.hardtanh, -1.0, 0.0, 1.0)
    edge("leaky", lambda x: F.leaky_relu(x, 0.5), -1.0, 0.0, 1.0)
    edge("relu6", F.relu6, -1.0, 0.0, 6.0)
    # --8<-- [end:apart]
    section("norm")
    # --8<-- [start:norm]
    x = leaf(0.0, 0.0)
    x.norm().backward()
    print("norm", show(x.grad))
    # --8<-- [end:norm]
    note("norm", x.grad)


def teaser():
    section("teaser")
    # --8<-- [start:teaser]
    x = leaf(1.0, 2.0)
    h = x + x
    h.sum().backward()
    (3 * h).sum().backward()
    print(show(x.grad))
    # --8<-- [end:teaser]
    note("teaser", x.grad)


match sys.argv[1:]:
    case []:
        styles()
        slot()
        accumulate()
        halves()
        shared()
        detach()
        input_gradient()
        intermediate()
        vector()
        forgotten()
        together()
        difference()
        clipping()
        coefficient()
        edges()
    case ["twice"]:
        twice()
    case ["second-order"]:
        second_order()
    case ["teaser"]:
        teaser()
