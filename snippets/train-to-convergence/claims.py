"""What the page asserts of its runs.

PyTorch's numbers come from the processor that builds the site, burn's from the one that captured them. So in float32
only what holds with any kernel is asserted; what decides is asserted in float64.
"""

import json
import tomllib
from pathlib import Path

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    at_most,
    claim,
    different,
    equal,
    less,
    plot,
    same_bits,
    table,
)

ADAM_LR = 0.01
# Below any distance here; a logarithmic axis has no zero.
NOTHING = 1e-17

same_task = Agreement(
    within=0,
    values=("task.*",),
    because={
        "en": "computed in float64 and rounded once, the data must be the same bits",
        "zh": "数据先用 float64 算、只舍入一次，必须逐位相同",
    },
)

sgd = Agreement(
    within=1e-6,
    values=("sgd.*",),
    agrees=None,
    because={
        "en": "a parameter of size 1 is rounded in steps of 1.2e-7, so this leaves room for eight: whether a hundred steps need more is decided by the kernels",
        "zh": "大小为 1 的参数以 1.2e-7 为一格舍入，这里容得下八格：一百步会不会用掉更多，由内核决定",
    },
)

adam = Agreement(
    within=1e-6,
    values=("adam.*",),
    agrees=False,
    because={
        "en": "the same tolerance as for SGD",
        "zh": "和 SGD 用同样的容差",
    },
)

small = Agreement(
    within=5e-6,
    values=("small.*",),
    because={
        "en": "the update changes about a hundred times as much as the gradient does, and float32 leaves the gradient uncertain by some 1e-8",
        "zh": "梯度变一点，更新量要变约一百倍，而这个梯度在 float32 里有 1e-8 上下的不确定",
    },
)

sgd_f64 = Agreement(
    within=1e-13,
    values=("sgd.*",),
    run="f64",
    because={
        "en": "float64 numbers near 1 lie 2e-16 apart: room for five hundred roundings in a hundred steps",
        "zh": "1 附近的 float64 数相距 2e-16：一百步里容得下五百次舍入",
    },
)

adam_f64 = Agreement(
    within=1e-13,
    values=("adam.*",),
    run="f64",
    agrees=False,
    because={
        "en": "the same tolerance as for SGD in float64",
        "zh": "和 float64 的 SGD 用同样的容差",
    },
)

small_gradient_f64 = Agreement(
    within=1e-13,
    values=("small.place", "small.gradient"),
    run="f64",
    because={
        "en": "one forward and one backward pass, before any optimizer has acted",
        "zh": "只有一次前向和一次反向，优化器还没有动手",
    },
)

small_update_f64 = Agreement(
    within=1e-13,
    values=("small.update",),
    run="f64",
    agrees=False,
    because={
        "en": "the same tolerance as for the gradient that the update comes from",
        "zh": "更新量来自这个梯度，所以用同样的容差",
    },
)

factors = Agreement(
    within=0,
    run="factors",
    because={
        "en": "the same operations in the same order and the same type give the same bits",
        "zh": "同样的运算、同样的次序、同样的类型，必须逐位相同",
    },
)

replica = Agreement(
    within=1e-13,
    run="replica",
    because={
        "en": "the tolerance that SGD meets in float64",
        "zh": "SGD 在 float64 里满足的那个容差",
    },
)

mended = Agreement(
    within=1e-13,
    run="mend",
    because={
        "en": "the tolerance that SGD meets in float64",
        "zh": "SGD 在 float64 里满足的那个容差",
    },
)

mended_f32 = Agreement(
    within=1e-6,
    run="mend-f32",
    agrees=None,
    because={
        "en": "the tolerance of SGD in float32, and as there the kernels decide",
        "zh": "和 float32 的 SGD 用同样的容差，结果同样由内核决定",
    },
)

defaults = Agreement(
    within=1e-3,
    run="defaults",
    agrees=False,
    because={
        "en": "a tenth of what Adam can move a parameter in one step",
        "zh": "Adam 一步最多能把参数移动的距离的十分之一",
    },
)

half_lr = Agreement(
    within=1e-6,
    values=("half-lr.*",),
    run="teaser",
    agrees=False,
    because={
        "en": "the tolerance of the whole learning rate",
        "zh": "和原来的学习率用同样的容差",
    },
)

large_epsilon = Agreement(
    within=1e-6,
    values=("large-epsilon.*",),
    run="teaser",
    agrees=False,
    because={
        "en": "the tolerance of the small epsilon",
        "zh": "和原来的 epsilon 用同样的容差",
    },
)


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The largest |difference| in each row."""
    difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return difference.reshape(len(difference), -1).max(axis=1)


def distance(a: Side, b: Side, name: str) -> np.ndarray:
    """The largest distance of a parameter after each step of the table."""
    return apart(a[f"{name}.trajectory"], b[f"{name}.trajectory"])


def between(torch: Side, burn: Side, name: str, run: str = "main") -> float:
    """The largest distance of a parameter of PyTorch to burn's after any step of the table."""
    return float(distance(torch.run(run), burn.run(run), name).max())


def by_threads(torch: Side, burn: Side) -> dict[tuple[str, int], float]:
    """The largest distance of PyTorch's SGD in float32 from burn's, by kernels and number of threads."""
    run, other = torch.run("threads"), burn["sgd.trajectory"]
    return {
        (kernels, n): float(
            apart(run[f"{kernels}-{n}.trajectory"], other).max()
        )
        for kernels in ("onednn", "native")
        for n in (1, 2, 4)
    }


def table_steps(burn: Side) -> np.ndarray:
    return burn["task.table"]


def factor_errors(burn: Side) -> np.ndarray:
    """The relative error of burn's combined factor, by step."""
    run = burn.run("factors")
    return run["factors.f32"][:, 0] / run["factors.f64"][:, 0] - 1


def foretold(burn: Side) -> np.ndarray:
    """After each step of the table, the learning rate times the sum of the factors' errors so far."""
    sums = ADAM_LR * np.abs(factor_errors(burn)).cumsum()
    return sums[table_steps(burn) - 1]


@claim(
    en="All four trainings get {right} of {right} series right: the fewest that one gets is {left}",
    zh="四次训练都把 {right} 条序列全部分对：最少的一次分对 {left} 条",
)
def converged(torch: Side, burn: Side) -> Verdict:
    finals = [
        side[f"{name}.final.correct"].item()
        for side in (torch, burn)
        for name in ("sgd", "adam")
    ]
    return equal(int(min(finals)), int(burn["task.sizes"][0]))


@claim(
    en="In float32 SGD stays within 1e-5 with all these threads and kernels: at most {left}",
    zh="float32 的 SGD，这几种线程数和内核都在 1e-5 以内：最远 {left}",
)
def sgd_close(torch: Side, burn: Side) -> Verdict:
    return at_most(max(by_threads(torch, burn).values()), 1e-5)


@claim(
    en="In float32 Adam stays within 1e-5 too: at most {left}",
    zh="float32 的 Adam 也在 1e-5 以内：最远 {left}",
)
def adam_close_too(torch: Side, burn: Side) -> Verdict:
    return at_most(between(torch, burn, "adam"), 1e-5)


@claim(
    en="With one thread, PyTorch's SGD repeats the plain run in {left} of {right} parameters recorded",
    zh="单线程时，PyTorch 的 SGD 重复了主运行：记下的 {right} 个参数值里有 {left} 个逐位相同",
)
def one_thread_repeats(torch: Side, burn: Side) -> Verdict:
    again = torch.run("threads")["onednn-1.trajectory"]
    return same_bits(again, torch["sgd.trajectory"])


@claim(
    en="From float32 to float64 SGD's distance shrinks by a factor of {right}, more than {left}",
    zh="从 float32 换到 float64，SGD 的距离缩小到 {right} 分之一，不止 {left} 倍",
)
def sgd_shrinks(torch: Side, burn: Side) -> Verdict:
    shrunk = between(torch, burn, "sgd") / between(torch, burn, "sgd", "f64")
    return at_most(1e6, shrunk)


@claim(
    en="In float64 Adam's distance is {right} times that in float32, more than {left}",
    zh="float64 里 Adam 的距离是 float32 里的 {right} 倍，大于 {left}",
)
def adam_stays(torch: Side, burn: Side) -> Verdict:
    kept = between(torch, burn, "adam", "f64") / between(torch, burn, "adam")
    return at_most(0.5, kept)


@claim(
    en="At the end burn's Adam in float32 is {left} from its own float64: less than the {right} between PyTorch and burn",
    zh="结束时 burn 的 Adam 在 float32 与自己的 float64 相差 {left}，小于 PyTorch 与 burn 之间的 {right}",
)
def burn_near_itself(torch: Side, burn: Side) -> Verdict:
    own = distance(burn, burn.run("f64"), "adam")[-1]
    both = distance(torch.run("f64"), burn.run("f64"), "adam")[-1]
    return less(float(own), float(both))


@claim(
    en="Adam in PyTorch's float32 is never further than {left} from its own float64, less than the {right} between PyTorch and burn at the end",
    zh="PyTorch 的 Adam 在 float32 与自己的 float64 最多相差 {left}，小于结束时 PyTorch 与 burn 之间的 {right}",
)
def torch_near_itself(torch: Side, burn: Side) -> Verdict:
    own = distance(torch, torch.run("f64"), "adam").max()
    both = distance(torch.run("f64"), burn.run("f64"), "adam")[-1]
    return less(float(own), float(both))


@claim(
    en="The first update differs, relatively, by what burn's first factor errs, to within 5 %: {left} ≤ {right}",
    zh="第一次更新的相对偏差就是 burn 第一个因子的误差，相差不到 5%：{left} ≤ {right}",
)
def first_update(torch: Side, burn: Side) -> Verdict:
    mine, other = (side.run("f64")["small.update"] for side in (burn, torch))
    error = factor_errors(burn)[0]
    relative = mine.item() / other.item() - 1
    return at_most(abs(relative / error - 1), 0.05)


@claim(
    en="burn's factors err by at most {left}, less than {right}",
    zh="burn 的因子最多错 {left}，小于 {right}",
)
def factors_err(torch: Side, burn: Side) -> Verdict:
    return less(float(np.abs(factor_errors(burn)).max()), 1e-5)


@claim(
    en="burn's factor is too small at {left} of {right} steps",
    zh="{right} 步里，burn 的因子有 {left} 步偏小",
)
def errors_one_sign(torch: Side, burn: Side) -> Verdict:
    errors = factor_errors(burn)
    return equal(int((errors < 0).sum()), errors.size)


@claim(
    en="At every step of the table Adam's distance in float64 is within 30 % of the learning rate times the sum of the factors' errors; it is off by {left} at most",
    zh="表里的每一步，float64 的 Adam 的距离与“学习率乘以因子误差之和”相差都不到 30%，最多差 {left}",
)
def errors_add_up(torch: Side, burn: Side) -> Verdict:
    measured = distance(torch.run("f64"), burn.run("f64"), "adam")
    return at_most(float(np.abs(measured / foretold(burn) - 1).max()), 0.3)


@claim(
    en="The replica is {right} times nearer to burn than PyTorch's Adam is, more than {left}",
    zh="PyTorch 的 Adam 到 burn 的距离是复制品的 {right} 倍，不止 {left} 倍",
)
def replica_closes(torch: Side, burn: Side) -> Verdict:
    gap = between(torch, burn, "adam", "f64")
    return at_most(1e8, gap / between(torch, burn, "adam", "replica"))


@claim(
    en="The default epsilon is {left} in burn and {right} in PyTorch",
    zh="默认的 epsilon：burn 是 {left}，PyTorch 是 {right}",
)
def default_epsilons(torch: Side, burn: Side) -> Verdict:
    """As both programs print them: burn's whole configuration, PyTorch's epsilon."""
    printed = [
        s.run("defaults").result.output["defaults"] for s in (burn, torch)
    ]
    configuration, _ = json.JSONDecoder().raw_decode(printed[0])
    return different(configuration["epsilon"], float(printed[1].split()[1]))


@claim(
    en="With the two defaults the largest distance is after step {left}",
    zh="两边都用默认值时，最大的距离出现在第 {left} 步之后",
)
def defaults_at_once(torch: Side, burn: Side) -> Verdict:
    found = distance(torch.run("defaults"), burn.run("defaults"), "adam")
    return equal(int(table_steps(burn)[found.argmax()]), 1)


@claim(
    en="It is the weight with the small gradient that differs most there: fc.weight{left}",
    zh="差得最多的正是梯度很小的那个权重：fc.weight{left}",
)
def defaults_same_weight(torch: Side, burn: Side) -> Verdict:
    rows = [s.run("defaults")["adam.trajectory"][0] for s in (torch, burn)]
    before = sum(burn[f"sgd.params.conv.{n}"].size for n in ("weight", "bias"))
    worst = int(np.abs(rows[0] - rows[1]).argmax()) - before
    features = burn["sgd.params.fc.weight"].shape[1]
    return equal(list(divmod(worst, features)), burn["small.place"].tolist())


@claim(
    en="With the two defaults both get the same number of series right: {left} and {right}",
    zh="两边都用默认值时，分对的序列数相同：{left} 和 {right}",
)
def defaults_same_answers(torch: Side, burn: Side) -> Verdict:
    name = "adam.final.correct"
    left, right = (s.run("defaults")[name].item() for s in (torch, burn))
    return equal(int(left), int(right))


@claim(
    en="Of the loss over all series, the two defaults change {left}: less than {right}",
    zh="两个默认值对全部序列的损失的影响是 {left}，小于 {right}",
)
def defaults_same_loss(torch: Side, burn: Side) -> Verdict:
    name = "adam.final.loss"
    left, right = (s.run("defaults")[name].item() for s in (torch, burn))
    return less(abs(left / right - 1), 1e-3)


def mend_distance(
    torch: Side, burn: Side, name: str, number_type: str
) -> float:
    """PyTorch's Adam to burn's mended one, in f64 or f32; the largest of any parameter after any step of the table."""
    against, run = {"f64": ("f64", "mend"), "f32": ("main", "mend-f32")}[
        number_type
    ]
    mended = burn.run(run)[f"{name}.trajectory"]
    return float(apart(torch.run(against)["adam.trajectory"], mended).max())


@claim(
    en="With the factors in f64 alone, Adam's distance in float64 falls to a thirtieth or so, at least by a factor of {left}: {right}",
    zh="只把因子换成 f64，float64 的 Adam 的距离就缩小到约三十分之一，至少 {left} 倍：{right}",
)
def factors_bring_most(torch: Side, burn: Side) -> Verdict:
    gap = between(torch, burn, "adam", "f64")
    return at_most(
        20.0, gap / mend_distance(torch, burn, "factors-only", "f64")
    )


@claim(
    en="In float32 both mends together bring Adam nearer by a factor of {right}, more than {left}",
    zh="float32 里，两处都改之后 Adam 的距离缩小到 {right} 分之一，不止 {left} 倍",
)
def mend_helps_in_f32(torch: Side, burn: Side) -> Verdict:
    gap = between(torch, burn, "adam")
    return at_most(3.0, gap / mend_distance(torch, burn, "mended", "f32"))


@claim(
    en="With half the learning rate Adam's distance is {left} of what it was, more than half and less than {right}",
    zh="学习率减半，Adam 的距离是原来的 {left}，多于一半，少于 {right}",
)
def half_lr_shrinks(torch: Side, burn: Side) -> Verdict:
    full = between(torch, burn, "adam")
    ratio = between(torch, burn, "half-lr", "teaser") / full
    return Verdict(ratio, "<", 0.9, 0.5 < ratio < 0.9)


@claim(
    en="After all steps with half the learning rate the distance is {left}, within 30 % of that after half the steps with the whole one, {right}",
    zh="学习率减半走完全程，距离是 {left}；原来的学习率走到一半，距离是 {right}：相差不到 30%",
)
def half_lr_is_half_way(torch: Side, burn: Side) -> Verdict:
    runs = torch.run("teaser"), burn.run("teaser")
    all_steps = float(distance(*runs, "half-lr")[-1])
    middle = int(
        np.flatnonzero(table_steps(burn) == burn["task.sizes"][4] // 2)[0]
    )
    half_way = float(distance(torch, burn, "adam")[middle])
    close = abs(all_steps / half_way - 1) < 0.3
    return Verdict(all_steps, "≈", half_way, close)


@claim(
    en="With an epsilon of 1e-3 the distance after the first step in float32 is {left}, less than {right}",
    zh="epsilon 换成 1e-3，float32 里第一步之后的距离是 {left}，小于 {right}",
)
def epsilon_calms(torch: Side, burn: Side) -> Verdict:
    runs = torch.run("teaser"), burn.run("teaser")
    return less(float(distance(*runs, "large-epsilon")[0]), 2e-7)


@claim(
    en="With an epsilon of 1e-3 Adam's distance is still {right} of what it was, more than {left}",
    zh="epsilon 换成 1e-3，Adam 的距离仍有原来的 {right}，大于 {left}",
)
def large_epsilon_stays(torch: Side, burn: Side) -> Verdict:
    full = between(torch, burn, "adam")
    ratio = between(torch, burn, "large-epsilon", "teaser") / full
    return at_most(0.6, ratio)


@claim(
    en="Others' distances of Adam in float64 are these at all {right} steps of the table, to the three digits that they give: at {left}",
    zh="别人测得的 float64 Adam 距离，在表里全部 {right} 步上与这里一致（他们给出的三位数字）：{left} 步",
)
def same_elsewhere(torch: Side, burn: Side) -> Verdict:
    path = Path(__file__).with_name("elsewhere.toml")
    theirs = tomllib.loads(path.read_text())["adam_f64_steps"]
    found = distance(torch.run("f64"), burn.run("f64"), "adam")
    ours = {str(s): float(f"{x:.2e}") for s, x in zip(table_steps(burn), found)}
    same = [step for step in ours if ours[step] == theirs[step]]
    return equal(len(same), len(theirs))


def e(x: float, digits: int = 2) -> str:
    """1.2e-7 rather than 1.2e-07: narrower, and readable in a table."""
    mantissa, _, exponent = f"{x:.{digits}e}".partition("e")
    return "0" if x == 0 else f"{mantissa}e{int(exponent)}"


def step_rows(torch: Side, burn: Side, name: str) -> list[list[str]]:
    """A row for each step of the table: losses, and the distances of the parameters."""
    steps = table_steps(burn)
    f64 = torch.run("f64"), burn.run("f64")
    losses = [s[f"{name}.losses"][steps - 1] for s in (torch, burn)]
    columns = zip(
        steps,
        *losses,
        np.abs(losses[0] - losses[1]),
        distance(torch, burn, name),
        distance(torch, f64[0], name),
        distance(burn, f64[1], name),
        distance(*f64, name),
    )
    return [
        [str(s), f"{a:.7f}", f"{b:.7f}", *(e(x) for x in distances)]
        for s, a, b, *distances in columns
    ]


STEPS_EN = "step | PyTorch's loss | burn's loss | Δ loss | Δ param. | PyTorch f32–f64 | burn f32–f64 | f64–f64"
STEPS_ZH = "步 | PyTorch 的损失 | burn 的损失 | 损失差 | 参数差 | PyTorch f32–f64 | burn f32–f64 | f64–f64"


@table(en=STEPS_EN, zh=STEPS_ZH)
def sgd_steps(torch: Side, burn: Side) -> list[list[str]]:
    return step_rows(torch, burn, "sgd")


@table(en=STEPS_EN, zh=STEPS_ZH)
def adam_steps(torch: Side, burn: Side) -> list[list[str]]:
    return step_rows(torch, burn, "adam")


@table(
    en="PyTorch's threads | with oneDNN | without",
    zh="PyTorch 的线程 | 有 oneDNN | 没有 oneDNN",
)
def threads(torch: Side, burn: Side) -> list[list[str]]:
    found = by_threads(torch, burn)
    return [
        [str(n), e(found["onednn", n]), e(found["native", n])]
        for n in (1, 2, 4)
    ]


@table(
    en="step | factor in f32 | in f64 | relative error | lr × Σ of errors | measured f64–f64",
    zh="步 | f32 的因子 | f64 的因子 | 相对误差 | lr × 误差之和 | 实测 f64–f64",
)
def factor_steps(torch: Side, burn: Side) -> list[list[str]]:
    """burn's combined factor, how far off it is, what this adds up to, and how far apart the two Adams were."""
    run = burn.run("factors")
    measured = distance(torch.run("f64"), burn.run("f64"), "adam")
    return [
        [
            str(step),
            f"{run['factors.f32'][step - 1, 0]:.9f}",
            f"{run['factors.f64'][step - 1, 0]:.9f}",
            e(factor_errors(burn)[step - 1]),
            e(expected),
            e(found),
        ]
        for step, expected, found in zip(
            table_steps(burn), foretold(burn), measured
        )
    ]


@table(
    en="step | PyTorch's loss | burn's loss | Δ param.",
    zh="步 | PyTorch 的损失 | burn 的损失 | 参数差",
)
def default_steps(torch: Side, burn: Side) -> list[list[str]]:
    """Both defaults in float32: losses and distance after each step of the table."""
    runs = torch.run("defaults"), burn.run("defaults")
    steps = table_steps(burn)
    losses = [s["adam.losses"][steps - 1] for s in runs]
    columns = zip(steps, *losses, distance(*runs, "adam"))
    return [[str(s), f"{a:.6f}", f"{b:.6f}", e(d)] for s, a, b, d in columns]


@table(
    en="burn's Adam | float64 | float32",
    zh="burn 的 Adam | float64 | float32",
)
def mends(torch: Side, burn: Side) -> list[list[str]]:
    """How far burn's Adam is from PyTorch's, as it is and with each mend."""
    as_is = [between(torch, burn, "adam", run) for run in ("f64", "main")]
    rows = [["0.22.1", *map(e, as_is)]]
    for name, label in (("factors-only", "A"), ("mended", "A + B")):
        found = [mend_distance(torch, burn, name, t) for t in ("f64", "f32")]
        rows.append([label, *map(e, found)])
    return rows


@plot(
    en="The loss of every batch | step | loss | SGD, PyTorch | SGD, burn | Adam, PyTorch | Adam, burn",
    zh="每一批的损失 | 步 | 损失 | SGD，PyTorch | SGD，burn | Adam，PyTorch | Adam，burn",
    looks=("1-", "1o", "2-", "2o"),
)
def losses(torch: Side, burn: Side) -> list[tuple]:
    steps = np.arange(1, burn["sgd.losses"].size + 1)
    return [
        (steps, side[f"{name}.losses"])
        for name in ("sgd", "adam")
        for side in (torch, burn)
    ]


@plot(
    en="How far the parameters of PyTorch and burn are apart | step | largest distance, logarithmic"
    " | Adam, float32 | Adam, float64 | SGD, float32 | SGD, float64 | replica of burn's Adam, float64",
    zh="PyTorch 与 burn 的参数相差多少 | 步 | 最大距离（对数）"
    " | Adam，float32 | Adam，float64 | SGD，float32 | SGD，float64 | 复制 burn 的 Adam，float64",
    looks=("2.-", "2:", "1.-", "1:", "3.-"),
    log=True,
)
def distances(torch: Side, burn: Side) -> list[tuple]:
    found = [
        distance(torch.run(run), burn.run(run), name)
        for name, run in (
            ("adam", "main"),
            ("adam", "f64"),
            ("sgd", "main"),
            ("sgd", "f64"),
            ("adam", "replica"),
        )
    ]
    return [(table_steps(burn), np.maximum(line, NOTHING)) for line in found]
