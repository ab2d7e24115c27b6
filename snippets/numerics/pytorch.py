"""Float numbers in PyTorch: their gaps, the order of additions, dtypes, and how to read a mismatch."""

import math
import os
import sys

# --8<-- [start:environment]
# Both are read once, when torch begins to compute.
SETTINGS = {
    "default-kernels": ("ATEN_CPU_CAPABILITY", "default"),
    "mkl-compatible": ("MKL_CBWR", "COMPATIBLE"),
}
if sys.argv[1:] and sys.argv[1] in SETTINGS:
    name, value = SETTINGS[sys.argv[1]]
    os.environ[name] = value
# --8<-- [end:environment]

import numpy as np
import torch
import torch.nn.functional as F

from lesson import note, record, section

torch.set_num_threads(1)


# --8<-- [start:numbers]
def numbers(n):
    """n numbers between 0 and 1, the same bits in both programs: the division
    in f64 and the rounding to f32 are exact to the last bit everywhere."""
    x = (torch.arange(n) * 7919 % 10007).double() / 10007
    return x.float()


def tensor(*shape):
    return numbers(math.prod(shape)).reshape(shape)


# --8<-- [end:numbers]


def gaps():
    section("gaps")

    # --8<-- [start:gaps]
    # --8<-- [part:gap]
    def gap(x):
        """From a float32 to the next larger one: one ulp."""
        return torch.nextafter(x, torch.tensor(math.inf)) - x

    # --8<-- [part:loop]
    places = torch.tensor([0.001, 1.0, 1000.0, 1e6, 16777216.0])
    for x in places:
        print(f"{x.item():>10.8g}  one ulp = {gap(x).item():.3e}")
    # --8<-- [part:lost]
    big = torch.tensor(16777216.0)  # 2 to the power 24
    print(f"{big.item():.0f} + 1 = {(big + 1).item():.0f}")
    # --8<-- [end:gaps]
    record("gaps", gap(places))


def ties():
    section("ties")
    # --8<-- [start:ties]
    # --8<-- [part:cast]
    halfway = torch.tensor(
        [16777217.0, 16777219.0, 16777221.0], dtype=torch.float64
    )
    rounded = halfway.float()
    print("to float32:", [int(x) for x in rounded])
    # --8<-- [part:round]
    halves = torch.tensor([0.5, 1.5, 2.5, 3.5])
    print("round() of the tensor:", halves.round().tolist())
    # --8<-- [part:language]
    print("Python's own round(2.5) =", round(2.5))
    # --8<-- [end:ties]
    record("ties.cast", rounded)
    record("ties.round", halves.round())
    note("ties.language", float(round(2.5)))


def order():
    section("order")

    # --8<-- [start:order]
    # --8<-- [part:loop]
    def one_by_one(numbers):
        total = torch.zeros(())
        for x in numbers:
            total = total + x
        return total

    # --8<-- [part:orders]
    forwards = numbers(65536)
    backwards = forwards.flip(0)
    smallest_first = forwards.sort().values
    orders = [forwards, backwards, smallest_first]
    sums = torch.stack([one_by_one(x.unbind()) for x in orders])
    print(f"forwards        {sums[0].item():.4f}")
    print(f"backwards       {sums[1].item():.4f}")
    print(f"smallest first  {sums[2].item():.4f}")
    # --8<-- [part:framework]
    total = forwards.sum()
    print(f"sum()           {total.item():.4f}")
    # --8<-- [part:exact]
    exact = math.fsum(forwards.tolist())
    print(f"math.fsum       {exact:.4f}")
    # --8<-- [end:order]
    record("order.one-by-one", sums)
    record("order.sum", total)
    record("order.mean", forwards.mean())
    record("order.exact", torch.tensor([exact], dtype=torch.float64))


# --8<-- [start:growth]
def growth():
    for power in range(10, 23, 2):
        tenths = torch.full((2**power,), 0.1)
        exact = tenths[0].double() * 2**power
        error = (tenths.sum() - exact) / exact
        note(f"growth.{power}.sum", error)
        record(f"growth.{power}.exact", exact)


# --8<-- [end:growth]


def product():
    section("product")
    # --8<-- [start:product]
    # --8<-- [part:f32]
    a = tensor(8, 1024) - 0.5
    b = (tensor(16, 1024) - 0.5).T
    c = a @ b
    # --8<-- [part:f64]
    a, b = a.double(), b.double()
    exact = a @ b
    error = (c.double() - exact).abs()
    # --8<-- [part:size]
    size = a.abs() @ b.abs()
    worst = (error / size).max().item()
    print(f"worst error / sum of |a||b| = {worst:.1e}")
    # --8<-- [end:product]
    record("product.f32", c)
    record("product.f64", exact)
    note("product.size", size.max())
    note("product.worst", torch.tensor([worst], dtype=torch.float64))


def dtypes():
    section("dtypes")
    # --8<-- [start:dtypes]
    # --8<-- [part:made]
    host = np.array([0.1, 0.2])
    kept = torch.tensor(host)
    print("an array of float64 becomes", kept.dtype)
    x = torch.tensor([0.1, 0.2])
    print("a list of floats becomes   ", x.dtype)
    # --8<-- [part:scalars]
    i = torch.tensor([1, 2, 3])
    print("integers are", i.dtype)
    print("[1, 2, 3] * 0.5 =", (i * 0.5).tolist())
    print("[1, 2, 3] + 1.5 =", (i + 1.5).tolist())
    # --8<-- [part:wrap]
    largest = torch.iinfo(torch.int32).max
    i32s = torch.tensor([largest, 1], dtype=torch.int32)
    total = i32s.sum()
    print(f"sum of int32: {total.item()} ({total.dtype})")
    # --8<-- [end:dtypes]
    record("dtypes.kept", kept)
    note("dtypes.lost", (kept - x.double()).abs().max())
    note("dtypes.times", i * 0.5)
    note("dtypes.plus", i + 1.5)
    note("dtypes.sum", total)


def promotion():
    section("promotion")
    # --8<-- [start:promotion]
    single = torch.tensor([0.1])
    double = torch.tensor([0.1], dtype=torch.float64)
    print(single.dtype, "+", double.dtype)
    print((single + double).item(), (single + double).dtype)
    # --8<-- [end:promotion]


def adam():
    section("adam")
    # --8<-- [start:adam]
    # --8<-- [part:start]
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([w], lr=1e-3, eps=1e-8)
    # --8<-- [part:steps]
    steps = []
    for gradient in (0.1, 0.2, 0.3):
        adam.zero_grad()
        (w * gradient).sum().backward()
        adam.step()
        steps.append(w.item())
    # --8<-- [part:print]
    print(f"after step 1: {steps[0]:.14f}")
    print(f"after step 3: {steps[2]:.14f}")
    # --8<-- [end:adam]
    record("adam", torch.tensor(steps, dtype=torch.float64))


def rms_f64():
    """RMSNorm with the same epsilon as burn's, on float64 tensors."""
    # --8<-- [start:rms]
    x = (tensor(2, 64) - 0.5).double()
    norm = torch.nn.RMSNorm(64, eps=1e-5, dtype=torch.float64)
    with torch.no_grad():
        y = norm(x)
    # --8<-- [end:rms]
    record("rms", y)


def half():
    section("half")
    # --8<-- [start:half]
    # --8<-- [part:round]
    x = torch.tensor([1 / 3, 257.0, 2049.0])
    f16, bf16 = x.half(), x.bfloat16()
    print("f16  ", f16.tolist())
    print("bf16 ", bf16.tolist())
    # --8<-- [part:overflow]
    x = torch.tensor([65519.0, 65520.0])
    large, wide = x.half(), x.bfloat16()
    print("f16  ", large.tolist())
    print("bf16 ", wide.tolist())
    # --8<-- [part:reduce]
    x = torch.tensor([60000.0, 60000.0], dtype=torch.float16)
    total, mean = x.sum(), x.mean()
    print(f"sum {total.item()}, mean {mean.item()}")
    # --8<-- [end:half]
    record("half.f16", f16)
    record("half.bf16", bf16)
    record("half.f16-large", large)
    record("half.bf16-large", wide)
    record("half.sum", total)
    record("half.mean", mean)


def counting():
    section("counting")
    # --8<-- [start:counting]
    for dtype in (torch.float16, torch.bfloat16):
        ones = torch.ones(4096, dtype=dtype)
        total = torch.zeros(1, dtype=dtype)
        for _ in range(4096):
            total = total + 1
        print("one by one", total.item())
        print(f"sum() {ones.sum().item()}, mean() {ones.mean().item()}")
        # --8<-- [end:counting]
        name = {torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
        record(f"counting.{name}.loop", total)
        record(f"counting.{name}.sum", ones.sum())
        record(f"counting.{name}.mean", ones.mean())


def defaults():
    section("defaults")
    # --8<-- [start:defaults]
    # --8<-- [part:values]
    right = torch.tensor([1.0, 2.0, 3.0])
    off = right * 1.004
    # --8<-- [part:assert]
    try:
        torch.testing.assert_close(off, right)
    except AssertionError as error:
        print("assert_close:", str(error).splitlines()[0])
    # --8<-- [part:strict]
    print("allclose:", torch.allclose(off, right))
    # --8<-- [end:defaults]
    record("defaults.off", (off / right - 1).max())


# --8<-- [start:cases]
def cases(x, w):
    """What a port has to match; burn's side has three of these wrong."""
    # --8<-- [part:rounding]
    rounding = x @ w.T
    # --8<-- [part:formula]
    formula = F.gelu(rounding)
    # --8<-- [part:layout]
    layout = x @ w.T
    # --8<-- [part:default]
    norm = torch.nn.RMSNorm(64, dtype=x.dtype)
    default = norm(x).detach()
    # --8<-- [part:]
    return {
        "rounding": rounding,
        "formula": formula,
        "layout": layout,
        "default": default,
    }


# --8<-- [end:cases]


def mismatches():
    x = tensor(2, 64) - 0.5
    w = tensor(64, 64) * 0.5 - 0.25
    # --8<-- [start:settings]
    for setting, x_, w_ in [
        ("f32", x, w),
        ("f64", x.double(), w.double()),
        ("small", x * 0.125, w),
    ]:
        for case, y in cases(x_, w_).items():
            record(f"{case}.{setting}", y)
    # --8<-- [end:settings]
    note("rounding.size", (x.abs() @ w.abs().T).max())
    record("formula.mended", cases(x, w)["formula"])
    record("default.mended", cases(x, w)["default"])


# --8<-- [start:kernels]
def kernels(name):
    x = tensor(1024, 1024) - 0.5
    a, b = x[:256, :256], x[256:512, :256]
    flat = x.flatten()
    note(f"{name}.sum", flat.sum())
    note(f"{name}.dot", flat.dot(flat))
    note(f"{name}.matmul", a @ b)
    note(f"{name}.softmax", a.softmax(1))
    note(f"{name}.layer-norm", F.layer_norm(a, (256,)))
    note(f"{name}.exp", a.exp())
    note(f"{name}.add", a + b)


def threads():
    for n in (1, 2):
        torch.set_num_threads(n)
        kernels(f"threads-{n}")


# --8<-- [end:kernels]


match sys.argv[1:]:
    case []:
        gaps()
        ties()
        order()
        growth()
        product()
        dtypes()
        adam()
        rms_f64()
        half()
        defaults()
        mismatches()
    case ["promotion"]:
        promotion()
    case ["counting"]:
        counting()
    case ["threads"]:
        threads()
    case [("default-kernels" | "mkl-compatible") as name]:
        kernels(name)
