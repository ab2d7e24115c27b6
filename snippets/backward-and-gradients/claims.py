"""What the page asserts of its runs."""

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    at_most,
    claim,
    different,
    equal,
    figure,
    less,
    same_bits,
    table,
)

ALIKE = ("relu", "abs", "prod", "max_dim", "sort", "pool", "sqrt", "root")
SHARED_OUT = ("max", "min", "amax", "pair", "minpair")
AT_BOUND = ("clamp", "clampmin", "hardtanh", "relu6", "leaky")

same_inputs = Agreement(
    within=0.0,
    because={
        "en": "both programs round the same float64 formula once",
        "zh": "两个程序都把同一个 float64 公式舍入一次",
    },
    values=("styles.x", "styles.w"),
)

gradients = Agreement(
    within=1e-6,
    because={
        "en": "numbers below 2 lie at most 1.2e-7 apart in float32 and a few of them are added: room for 8 such steps; another formula would show in the first digits",
        "zh": "2 以下相邻的 float32 数最多相距 1.2e-7，相加的也只有几个：容得下 8 个这样的间距；公式若有不同，头几位就会不同",
    },
    values=(
        "styles.loss",
        "styles.*.grad",
        "halves.*",
        "shared.*",
        "input.*",
        "forgotten.*",
    ),
)

whole_numbers = Agreement(
    within=0.0,
    because={
        "en": "every step on the way is a small whole number or a power of two, which float32 holds exactly",
        "zh": "每一步的中间结果都是小整数或二的幂，float32 都能精确表示",
    },
    values=(
        "slot.*",
        "accumulate.*",
        "detach.*",
        "vector.*",
        "together",
        "difference",
        "clip.value",
    ),
)

exponential = Agreement(
    within=1e-3,
    because={
        "en": "the gradients are near 218, where float32 numbers lie 1.5e-5 apart, and both libraries' exp may err by a few of those",
        "zh": "梯度在 218 附近，那里相邻的 float32 数相距 1.5e-5，两个库的 exp 都可能差上几个",
    },
    values=("intermediate.*",),
)

clipped = Agreement(
    within=1e-6,
    because={
        "en": "PyTorch adds 1e-6 to the norm before it divides, burn practically nothing; the norms here are 3 and more, so this makes at most a third of that",
        "zh": "PyTorch 做除法之前给范数加 1e-6，burn 加的几乎是零；这里的范数不小于 3，所以差别最多是它的三分之一",
    },
    values=("clip.each", "clip.all"),
)

small_norms = Agreement(
    within=1e-3,
    agrees=False,
    because={
        "en": "a thousandth of the gradient would be hard to notice; with a norm near 1e-6 a quarter of it is at stake",
        "zh": "梯度的千分之一不易察觉；范数接近 1e-6 时，差的是四分之一",
    },
    values=("coefficient",),
)

alike = Agreement(
    within=0.0,
    because={
        "en": "the gradients here are small numbers that float32 holds exactly, infinity or NaN: nothing is rounded",
        "zh": "这里的梯度都是 float32 能精确表示的数、无穷或 NaN，没有舍入",
    },
    values=tuple(f"edge.{name}" for name in ALIKE),
)

apart = Agreement(
    within=0.1,
    agrees=False,
    because={
        "en": "another choice of subgradient differs by a half or by one",
        "zh": "次梯度选得不同，就差二分之一或者一",
    },
    values=tuple(f"edge.{name}" for name in SHARED_OUT + AT_BOUND),
)


def largest(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a.astype(np.float64) - b).max())


@claim(
    en="A gradient that burn hands out has no autodiff: {left}",
    zh="burn 交出的梯度不带 autodiff：{left}",
)
def gradient_is_plain(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["slot.tracked"][0]), 0)


@claim(
    en="After two backward passes PyTorch's gradient is {left}, the sum of 2 and 3",
    zh="两次 backward 之后，PyTorch 的梯度是 {left}，即 2 与 3 之和",
)
def adds_up(torch: Side, burn: Side) -> Verdict:
    return equal(float(torch["accumulate.second"][0]), 2.0 + 3.0)


@claim(
    en="burn's second backward pass gives {left}, what it would give alone",
    zh="burn 的第二次 backward 给出 {left}，和单独做时一样",
)
def stays_alone(torch: Side, burn: Side) -> Verdict:
    return equal(float(burn["accumulate.second"][0]), 3.0)


@claim(
    en="On both sides the halves add up to the whole, within {right}; the most is {left}",
    zh="两边的两半之和都等于整批的梯度，误差在 {right} 以内，最多 {left}",
)
def halves_make_a_whole(torch: Side, burn: Side) -> Verdict:
    return at_most(
        max(largest(s["halves.whole"], s["halves.sum"]) for s in (torch, burn)),
        1e-6,
    )


@claim(
    en="On both sides the shared weight's gradient is the sum of its two uses, within {right}; the most is {left}",
    zh="两边共享权重的梯度都等于两处之和，误差在 {right} 以内，最多 {left}",
)
def shared_is_the_sum(torch: Side, burn: Side) -> Verdict:
    return at_most(
        max(
            largest(s["shared.one"], s["shared.summed"]) for s in (torch, burn)
        ),
        1e-6,
    )


@claim(
    en="A detached result requires no gradient, in PyTorch ({left}) and in burn ({right})",
    zh="中间结果 detach 之后不要梯度，PyTorch（{left}）和 burn（{right}）都如此",
)
def result_is_cut(torch: Side, burn: Side) -> Verdict:
    ours, theirs = (int(s["detach.result"].item()) for s in (torch, burn))
    return Verdict(ours, "=", theirs, ours == theirs == 0)


@claim(
    en="A detached leaf requires a gradient: PyTorch {left}, burn {right}",
    zh="叶子 detach 之后还要不要梯度：PyTorch {left}，burn {right}",
)
def leaf_is_not_cut(torch: Side, burn: Side) -> Verdict:
    return different(
        int(torch["detach.leaf"].item()), int(burn["detach.leaf"].item())
    )


@claim(
    en="In burn the detached leaf gets a gradient of its own, equal to the leaf's values: {left} of {right}",
    zh="在 burn 里，detach 过的叶子得到自己的梯度，等于原来的叶子：{right} 个数中 {left} 个",
)
def copy_gets_its_own(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["detach.copy"], np.array([1, 2, 3], np.float32))


@claim(
    en="burn's inner() leaves a constant that requires no gradient: {left}",
    zh="burn 的 inner() 得到不要梯度的常量：{left}",
)
def inner_is_constant(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["detach.inner"][0]), 0)


@claim(
    en="After torch.autograd.grad, {left} of the two leaves have a .grad",
    zh="torch.autograd.grad 之后，两个叶子中有 {left} 个带 .grad",
)
def slots_stay_empty(torch: Side, burn: Side) -> Verdict:
    return equal(int(torch["input.slots"].sum()), 0)


@claim(
    en="The step against the model raises the loss in both frameworks; burn's goes from {left} to {right}",
    zh="朝不利的方向走一步，两个框架的损失都变大；burn 从 {left} 到 {right}",
)
def loss_rises(torch: Side, burn: Side) -> Verdict:
    (a, b), (c, d) = (
        (float(s["input.before"].item()), float(s["input.after"].item()))
        for s in (torch, burn)
    )
    return Verdict(c, "<", d, a < b and c < d)


@claim(
    en="Without mean() burn's gradient is the mean's, times the number of samples, in {left} of {right} numbers",
    zh="少了 mean()，burn 的梯度是平均损失的梯度乘样本数：{right} 个数中 {left} 个如此",
)
def forgotten_is_the_sum(torch: Side, burn: Side) -> Verdict:
    scaled = burn["forgotten.mean"] * np.float32(samples(torch, burn))
    close = np.abs(scaled - burn["forgotten.sum"]) <= 1e-6
    return equal(int(close.sum()), close.size)


@figure
def samples(torch: Side, burn: Side) -> int:
    return burn["styles.x"].shape[0]


@claim(
    en="burn's difference of gradients equals PyTorch's second derivative in {left} of {right} numbers",
    zh="burn 的梯度之差和 PyTorch 的二阶导数相等：{right} 个数中 {left} 个",
)
def difference_is_curvature(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch.run("second-order")["curvature"], burn["difference"])


@claim(
    en="Clipped over all tensors, the two gradients still stand as 3 to 4 on both sides; off by {left} at most",
    zh="对全部张量一起裁剪，两边的两个梯度之比仍是 3 比 4，最多偏离 {left}",
)
def direction_kept(torch: Side, burn: Side) -> Verdict:
    return at_most(
        max(
            abs(float(a / b) - 3 / 4)
            for a, b in (torch["clip.all"], burn["clip.all"])
        ),
        1e-6,
    )


@claim(
    en="Clipped tensor by tensor, the two gradients come out equal, to within {right}, on both sides",
    zh="逐个张量裁剪，两边的两个梯度都变得一样大，误差在 {right} 以内",
)
def direction_lost(torch: Side, burn: Side) -> Verdict:
    return at_most(
        max(
            abs(float(a / b) - 1)
            for a, b in (torch["clip.each"], burn["clip.each"])
        ),
        1e-6,
    )


@claim(
    en="At the smallest norm PyTorch keeps {left} of the gradient, burn {right}",
    zh="范数最小时，PyTorch 留下梯度的 {left}，burn 留下 {right}",
)
def epsilon_shows(torch: Side, burn: Side) -> Verdict:
    ours, theirs = (
        round(float(s["coefficient"][-1]), 4) for s in (torch, burn)
    )
    return Verdict(ours, "<", theirs, ours == 0.25 and theirs == 0.5)


@figure
def added_to_norm(torch: Side, burn: Side) -> float:
    """What PyTorch adds to the norm: it keeps half / (norm + this), at a norm of 1e-6."""
    kept = float(torch["coefficient"][-1])
    return 1e-6 * (0.5 / kept - 1)


@claim(
    en="{left} of the {right} cases in which the frameworks differ do differ",
    zh="说有不同的 {right} 种情形里，{left} 种确实不同",
)
def all_apart(torch: Side, burn: Side) -> Verdict:
    names = SHARED_OUT + AT_BOUND
    return equal(
        sum(
            largest(torch[f"edge.{n}"], burn[f"edge.{n}"]) > 0.1 for n in names
        ),
        len(names),
    )


@claim(
    en="At a tie the shares add up to one on both sides, in {left} of {right} cases",
    zh="并列时，各份加起来在两边都是一：{right} 种情形中 {left} 种",
)
def shares_add_up(torch: Side, burn: Side) -> Verdict:
    sums = [
        float(s[f"edge.{n}"].sum()) for n in SHARED_OUT for s in (torch, burn)
    ]
    return equal(sum(x == 1 for x in sums) // 2, len(SHARED_OUT))


@claim(
    en="At zero burn's relu has the slope {left} and its relu6 {right}",
    zh="在零点，burn 的 relu 斜率是 {left}，relu6 是 {right}",
)
def burn_disagrees_with_itself(torch: Side, burn: Side) -> Verdict:
    return less(float(burn["edge.relu"][1]), float(burn["edge.relu6"][1]))


@claim(
    en="At zero PyTorch's relu and relu6 have the same slope, {left}",
    zh="在零点，PyTorch 的 relu 和 relu6 斜率相同，都是 {left}",
)
def torch_agrees_with_itself(torch: Side, burn: Side) -> Verdict:
    return equal(float(torch["edge.relu"][1]), float(torch["edge.relu6"][1]))


@claim(
    en="The root of a sum of squares at zero gives NaN in both, in {left} of {right} numbers",
    zh="平方和的根在零点，两边都得 NaN：{right} 个数中 {left} 个",
)
def root_is_nan(torch: Side, burn: Side) -> Verdict:
    found = np.isnan([*torch["edge.root"], *burn["edge.root"]])
    return equal(int(found.sum()), found.size)


@claim(
    en="PyTorch's own norm has the gradient {left} there",
    zh="PyTorch 自己的 norm 在那里的梯度是 {left}",
)
def norm_is_zero(torch: Side, burn: Side) -> Verdict:
    return equal(float(np.abs(torch["norm"]).max()), 0.0)


@claim(
    en="In the brain-teaser PyTorch's gradient is {left}, twice 1 + 3",
    zh="动脑筋里 PyTorch 的梯度是 {left}，即 1 + 3 的两倍",
)
def teaser_adds_up(torch: Side, burn: Side) -> Verdict:
    found = torch.run("teaser")["teaser"]
    return Verdict(float(found[0]), "=", 8.0, bool((found == 8).all()))


EDGES = {
    "max": "max, [2, 2, 1]",
    "amax": "amax / max_dim, [2, 2, 1]",
    "pair": "maximum / max_pair, 2 | 2",
    "clamp": "clamp, [−1, 0, 0.5, 1]",
    "hardtanh": "hardtanh, [−1, 0, 1]",
    "relu6": "relu6, [−1, 0, 6]",
    "leaky": "leaky_relu, [−1, 0, 1]",
}


@table(en="function and point | PyTorch | burn", zh="函数和点 | PyTorch | burn")
def choices(torch: Side, burn: Side) -> list[list[str]]:
    """The gradients at ties and bounds."""

    def text(side: Side, name: str) -> str:
        return ", ".join(f"{g:g}" for g in side[f"edge.{name}"])

    return [
        [label, text(torch, name), text(burn, name)]
        for name, label in EDGES.items()
    ]
