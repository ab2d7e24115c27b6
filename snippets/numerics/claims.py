"""What the page asserts of its runs."""

import math
import tomllib
from pathlib import Path

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    at_most,
    claim,
    equal,
    figure,
    less,
    table,
)

U = 2.0**-24  # float32 rounds to within this, relative to the number
POWERS = range(10, 23, 2)
CASES = ("rounding", "formula", "layout", "default")

bits = Agreement(
    within=0.0,
    because={
        "en": "each of these is a single rounded operation, or the same ones in the same order: IEEE 754 leaves no choice",
        "zh": "每一项都只是一次带舍入的运算，或者次序相同的同一串运算：IEEE 754 没有留下选择的余地",
    },
    values=(
        "gaps",
        "ties.*",
        "order.one-by-one",
        "growth.*",
        "dtypes.*",
        "half.*",
        "defaults.*",
    ),
)
sums = Agreement(
    within=0.01,
    because={
        "en": "near 32766 one ulp is 0.002: room for five",
        "zh": "32766 附近的 ulp 是 0.002：容得下五个",
    },
    values=("order.sum",),
)
references = Agreement(
    within=1e-6,
    because={
        "en": "exact to float64 by two methods; float32 is a thousand times coarser here",
        "zh": "用两种办法算到 float64 的精度；float32 在这里粗上千倍",
    },
    values=("order.exact", "product.f64"),
)
product = Agreement(
    within=2e-4,
    because={
        "en": "the products added up have a size of about 85 and there are 1024 of them: √1024 roundings of 6e-8 of 85",
        "zh": "加起来的乘积，绝对值之和约为 85，共 1024 个：85 的 6e-8，乘以 √1024",
    },
    values=("product.f32",),
)
rounding = Agreement(
    within=3e-6,
    because={
        "en": "64 products with a size of up to 2.7 in all: √64 roundings of 6e-8 of 2.7, doubled; the smallest mistake in float32 below is off by thirty times as much",
        "zh": "64 个乘积，绝对值之和不超过 2.7：2.7 的 6e-8，乘以 √64，再翻一倍；下面 float32 里最轻的错误也有它的三十倍",
    },
    values=("rounding.f32", "rounding.small", "order.mean"),
)
rounding_f64 = Agreement(
    within=6e-15,
    because={
        "en": "the tolerance of float32 divided by 2 to the power 29, the number of floats of float64 for one of float32",
        "zh": "float32 的容差除以 2 的 29 次方：一个 float32 的间距里有这么多 float64",
    },
    values=("rounding.f64",),
)
wrong = Agreement(
    within=3e-6,
    because={
        "en": "the tolerance of the right port: a wrong one has to exceed it",
        "zh": "正确移植的容差：错的应当超出",
    },
    values=(
        "formula.[fs]*",
        "layout.[fs]*",
        "default.[fs]*",
    ),
    agrees=False,
)
mended = Agreement(
    within=3e-6,
    because={
        "en": "the tolerance of the right port",
        "zh": "正确移植的容差",
    },
    values=("*.mended",),
)
adam = Agreement(
    within=1e-12,
    because={
        "en": "float64 would differ by 1e-19 here",
        "zh": "若都是 float64，这里只会差 1e-19",
    },
    values=("adam",),
    agrees=False,
)
rms = Agreement(
    within=1e-12,
    because={
        "en": "float64 would differ by 1e-15 here",
        "zh": "若都是 float64，这里只会差 1e-15",
    },
    values=("rms",),
    agrees=False,
)
counting = Agreement(
    within=0.0,
    because={
        "en": "whole numbers, one rounded addition at a time; the sums are exact in float32",
        "zh": "都是整数，每次只做一次带舍入的加法；总和在 float32 里是精确的",
    },
    run="counting",
)


def elsewhere() -> dict:
    return tomllib.loads(Path(__file__).with_name("elsewhere.toml").read_text())


def one(numbers: np.ndarray) -> float:
    return float(numbers.reshape(-1)[0])


@claim(
    en="The three orders give {left} different sums of the same numbers",
    zh="同样的数，三种次序加出 {left} 个不同的和",
)
def orders_differ(torch: Side, burn: Side) -> Verdict:
    return equal(len(set(torch["order.one-by-one"].tolist())), 3)


@claim(
    en="Round half to even in the tensors of both, and in Python; Rust's own round gives {left}, Python's {right}",
    zh="两边的张量和 Python 都把正中间的数舍入到偶数；Rust 自己的 round 得 {left}，Python 的得 {right}",
)
def languages_round(torch: Side, burn: Side) -> Verdict:
    theirs = [one(burn["ties.language"]), one(torch["ties.language"])]
    return Verdict(theirs[0], "≠", theirs[1], theirs == [3.0, 2.0])


def replica_at(burn: Side) -> list[int]:
    """Which of the replicas (with 1, 4, 8 and 16 lanes) have the bits of burn's own sum."""
    same = burn["replica.sums"] == burn["replica.sum"]
    return [lanes for lanes, hit in zip((1, 4, 8, 16), same) if hit]


@claim(
    en="burn's sum of the tenths has the same bits as {left} of the replicas, one with 4, 8 or 16 lanes",
    zh="burn 对这串 0.1 求的和，与 {left} 个复制品逐位相同，它有 4、8 或 16 条通道",
)
def sum_in_lanes(torch: Side, burn: Side) -> Verdict:
    found = replica_at(burn)
    return Verdict(len(found), "=", 1, len(found) == 1 and found[0] > 1)


@figure
def lanes(torch: Side, burn: Side) -> int:
    return replica_at(burn)[0]


def growth_of(side: Side, power: int, name: str) -> float:
    return abs(one(side[f"growth.{power}.{name}"]))


@claim(
    en="For the longest row of tenths burn's sum is off by less than a tenth of what the loop is off by: {left} < {right}",
    zh="最长的那一串 0.1，burn 的 sum 的误差不到循环的十分之一：{left} < {right}",
)
def burn_below_loop(torch: Side, burn: Side) -> Verdict:
    return less(growth_of(burn, 22, "sum"), growth_of(burn, 22, "loop") / 10)


@claim(
    en="There PyTorch's sum is off by less than a tenth of what burn's is off by: {left} < {right}",
    zh="同一处，PyTorch 的 sum 的误差不到 burn 的十分之一：{left} < {right}",
)
def torch_below_burn(torch: Side, burn: Side) -> Verdict:
    return less(growth_of(torch, 22, "sum"), growth_of(burn, 22, "sum") / 10)


@claim(
    en="In neither framework is an element of the product off by more than the bound, as a share of the sum of |a||b|: {left} ≤ {right}",
    zh="两个框架的乘积，没有一个元素的误差超过上界（占 |a||b| 之和的比例）：{left} ≤ {right}",
)
def product_below_bound(torch: Side, burn: Side) -> Verdict:
    worst = max(one(s["product.worst"]) for s in (torch, burn))
    return at_most(worst, 1024 * U)


KERNELS = ("add", "exp", "softmax", "layer-norm", "sum", "dot", "matmul")
OTHERS = (
    ("threads", "threads-2"),
    ("default-kernels", "default-kernels"),
    ("mkl-compatible", "mkl-compatible"),
)


def changed(torch: Side, name: str) -> list[tuple[int, int]]:
    """Of an operation's results under each other setting: how many differ from one thread's, of how many."""
    usual = torch.run("threads")[f"threads-1.{name}"]
    found = [torch.run(run)[f"{prefix}.{name}"] for run, prefix in OTHERS]
    return [(int((usual != other).sum()), usual.size) for other in found]


@claim(
    en="Adding two tensors gives the same bits with two threads, with the default kernels and with MKL's compatible ones: {left} differ",
    zh="两个张量相加，用两个线程、用默认内核、用 MKL 的兼容内核，结果都逐位相同：不同的有 {left} 个",
)
def adding_never_changes(torch: Side, burn: Side) -> Verdict:
    return equal(sum(differ for differ, _ in changed(torch, "add")), 0)


@claim(
    en="burn's product, softmax and sum of a million numbers have the same bits with one thread and with four: {left} of {right}",
    zh="burn 的矩阵乘、softmax 和一百万个数的和，一个线程与四个线程逐位相同：{right} 项里 {left} 项",
)
def rayon_same(torch: Side, burn: Side) -> Verdict:
    run, names = burn.run("threads"), ("matmul", "softmax", "sum")
    same = [
        bool((run[f"rayon-1.{n}"] == run[f"rayon-4.{n}"]).all()) for n in names
    ]
    return equal(sum(same), len(names))


@claim(
    en="burn's sum of eight million numbers varies from call to call with four threads ({left}), and not with one ({right})",
    zh="burn 对八百万个数求和，四个线程时各次调用结果不一（{left}），一个线程时不会（{right}）",
)
def rayon_varies(torch: Side, burn: Side) -> Verdict:
    run = burn.run("threads")
    one_, four = (bool(run[f"rayon-{n}.varies"][0]) for n in (1, 4))
    return Verdict(four, "≠", one_, four and not one_)


@claim(
    en="Built without the feature simd, burn's sum of the tenths, {left}, is the loop's, {right}",
    zh="不带 simd 特性编译，burn 对这串 0.1 求的和 {left} 就是循环的和 {right}",
)
def without_simd(torch: Side, burn: Side) -> Verdict:
    theirs = elsewhere()["plain"]["tenths"]
    return equal(theirs, one(burn["replica.loop"]))


@claim(
    en="What is lost of an f64 on the way into an f32 tensor is the same on both sides: {left}",
    zh="f64 变成 f32 张量时丢掉的，两边一样：{left}",
)
def same_loss(torch: Side, burn: Side) -> Verdict:
    return equal(one(torch["dtypes.lost"]), one(burn["dtypes.lost"]))


@claim(
    en="burn truncates a float scalar to an integer before it meets an Int tensor: [1, 2, 3] * 0.5 is {left}; PyTorch promotes: {right}",
    zh="浮点标量遇到 burn 的 Int 张量，先截断成整数：[1, 2, 3] * 0.5 得 {left}；PyTorch 则提升类型：{right}",
)
def scalars(torch: Side, burn: Side) -> Verdict:
    times = [s["dtypes.times"].tolist() for s in (burn, torch)]
    plus = [s["dtypes.plus"].tolist() for s in (burn, torch)]
    holds = times == [[0, 0, 0], [0.5, 1, 1.5]]
    holds &= plus == [[2, 3, 4], [2.5, 3.5, 4.5]]
    return Verdict(times[0], "≠", times[1], holds)


@claim(
    en="The sum of 32-bit integers wraps in burn, {left}, and is 64 bits wide in PyTorch, {right}",
    zh="32 位整数的和，burn 回绕成 {left}，PyTorch 用 64 位，得 {right}",
)
def wraps(torch: Side, burn: Side) -> Verdict:
    left, right = (int(one(s["dtypes.sum"])) for s in (burn, torch))
    return Verdict(left, "≠", right, right - left == 2**32)


@claim(
    en="On f64 tensors burn's RMSNorm is off by {left}, which is what float32 rounds by, not float64; its bound is {right}",
    zh="张量是 f64，burn 的 RMSNorm 却差 {left}，这是 float32 而不是 float64 的舍入，不超过 {right}",
)
def rms_like_f32(torch: Side, burn: Side) -> Verdict:
    return at_most(float(np.abs(torch["rms"] - burn["rms"]).max()), 4e-7)


@claim(
    en="In f16 the sum of the two numbers is {left}, their mean {right}",
    zh="f16 里，那两个数的和是 {left}，平均是 {right}",
)
def sum_overflows(torch: Side, burn: Side) -> Verdict:
    total, mean = one(burn["half.sum"]), one(burn["half.mean"])
    return Verdict(total, ">", mean, math.isinf(total) and mean == 60000)


@claim(
    en="What PyTorch's assert_close rejects, burn's default tolerance lets pass: {left}, {right}",
    zh="PyTorch 的 assert_close 拒绝的，burn 的默认容差放行：{left}，{right}",
)
def lax_default(torch: Side, burn: Side) -> Verdict:
    first = [s.result.output["defaults"].splitlines()[0] for s in (torch, burn)]
    holds = first[0].endswith("not close!") and first[1].endswith("passed")
    return Verdict(*[first[0], "≠", first[1]], holds)


def relative(torch: Side, burn: Side, name: str) -> float:
    """The largest |difference|, as a share of the largest number."""
    a, b = (s[name].astype(np.float64) for s in (torch, burn))
    return float(np.abs(a - b).max() / np.abs(a).max())


def three(torch: Side, burn: Side, case: str) -> list[float]:
    return [
        relative(torch, burn, f"{case}.{setting}")
        for setting in ("f32", "f64", "small")
    ]


@claim(
    en="The rounding noise falls by a factor of more than a million in float64: {left} < {right}",
    zh="到了 float64，舍入噪声缩小到百万分之一以下：{left} < {right}",
)
def noise_vanishes(torch: Side, burn: Side) -> Verdict:
    single, double, _ = three(torch, burn, "rounding")
    return less(double, single / 1e6)


@claim(
    en="The three wrong ports are as far apart in float64 as in float32, to within {right}: at most {left}",
    zh="三种错的移植，float64 与 float32 的差距相同，出入不超过 {right}：最多 {left}",
)
def wrong_stays(torch: Side, burn: Side) -> Verdict:
    found = [three(torch, burn, case) for case in CASES[1:]]
    return at_most(max(abs(f32 / f64 - 1) for f32, f64, _ in found), 0.1)


@claim(
    en="The wrong layout is off by {right} of the largest number, more than {left}",
    zh="布局错了，差距是最大数的 {right}，大于 {left}",
)
def layout_is_large(torch: Side, burn: Side) -> Verdict:
    return less(0.5, three(torch, burn, "layout")[0])


@claim(
    en="With numbers an eighth as large the other epsilon does {left} times the damage, between 32 and {right}",
    zh="数缩小到八分之一，epsilon 不同造成的差距变成 {left} 倍，在 32 与 {right} 之间",
)
def epsilon_grows(torch: Side, burn: Side) -> Verdict:
    single, _, small = three(torch, burn, "default")
    ratio = small / single
    return Verdict(ratio, "<", 128, 32 < ratio < 128)


@claim(
    en="With numbers an eighth as large the two GELUs are nearer, {left} against {right}",
    zh="数缩小到八分之一，两种 GELU 靠得更近：{left} 对 {right}",
)
def gelu_shrinks(torch: Side, burn: Side) -> Verdict:
    single, _, small = three(torch, burn, "formula")
    return less(small, single)


@claim(
    en="Counted one by one in f16 the ones stop at {left}; sum() has all {right}",
    zh="f16 里一个一个地数，停在 {left}；sum() 数全了，{right}",
)
def stops(torch: Side, burn: Side) -> Verdict:
    run = burn.run("counting")
    found = [one(run[f"counting.f16.{n}"]) for n in ("loop", "sum")]
    return Verdict(*[found[0], "<", found[1]], found == [2048, 4096])


@claim(
    en="In bf16 they stop at {left}; sum() has all {right}",
    zh="bf16 里停在 {left}；sum() 数全了，{right}",
)
def stops_sooner(torch: Side, burn: Side) -> Verdict:
    run = burn.run("counting")
    found = [one(run[f"counting.bf16.{n}"]) for n in ("loop", "sum")]
    return Verdict(*[found[0], "<", found[1]], found == [256, 4096])


def e(x: float, digits: int = 1) -> str:
    """1.2e-7 rather than 1.2e-07: narrower, and readable in a table."""
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return "0" if x == 0 else f"{mantissa}e{int(exponent)}"


@table(
    en="tenths | a loop | burn's sum | PyTorch's sum",
    zh="0.1 的个数 | 循环 | burn 的 sum | PyTorch 的 sum",
)
def errors(torch: Side, burn: Side) -> list[list[str]]:
    """The relative error of the sum of more and more tenths."""
    return [
        [
            str(2**power),
            e(growth_of(burn, power, "loop")),
            e(growth_of(burn, power, "sum")),
            e(growth_of(torch, power, "sum")),
        ]
        for power in POWERS
    ]


@table(
    en="operation | results | two threads | default kernels | MKL compatible",
    zh="运算 | 结果个数 | 两个线程 | 默认内核 | MKL 兼容",
)
def settings(torch: Side, burn: Side) -> list[list[str]]:
    """How many of PyTorch's results change their bits under another setting."""
    rows = []
    for name in KERNELS:
        found = changed(torch, name)
        rows.append([name, str(found[0][1]), *(str(n) for n, _ in found)])
    return rows


@table(
    en="On burn's side | float32 | float64 | ratio | float32, x / 8",
    zh="burn 这一边 | float32 | float64 | 两者之比 | float32，x / 8",
)
def kinds(torch: Side, burn: Side) -> list[list[str]]:
    """Each case's largest difference, as a share of the largest number."""
    rows = []
    for case in CASES:
        single, double, small = three(torch, burn, case)
        ratio = "∞" if double == 0 else e(single / double)
        rows.append([case, e(single), e(double), ratio, e(small)])
    return rows


@table(
    en="For `rounding.f32` | absolute difference",
    zh="对 `rounding.f32` | 绝对差",
)
def ladder(torch: Side, burn: Side) -> list[list[str]]:
    """From the measured noise to the largest mistake."""

    def apart(name: str) -> float:
        a, b = (s[name].astype(np.float64) for s in (torch, burn))
        return float(np.abs(a - b).max())

    n, size = 64, one(torch["rounding.size"])
    mistakes = sorted((apart(f"{case}.f32"), case) for case in CASES[1:])
    return [
        ["max |Δ|", e(apart("rounding.f32"))],
        ["√n · u · Σ|x||w|", e(math.sqrt(n) * U * size)],
        ["tolerance", e(rounding.within)],
        ["n · u · Σ|x||w|", e(n * U * size)],
        *[[f"mistake: {case}", e(found)] for found, case in mistakes],
    ]
