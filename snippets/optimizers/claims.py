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
    same_bits,
    table,
)

ROUNDING = {
    "en": "float32 numbers between 0.5 and 1 lie 6e-8 apart: room for 16 of those, while another rate, decay or gradient shows in the second or third digit",
    "zh": "0.5 到 1 之间相邻的 float32 数相距 6e-8：容得下 16 个这样的间距；学习率、衰减或梯度若有不同，第二、三位数字就会不同",
}

same_start = Agreement(
    within=0.0,
    because={
        "en": "the same formula, computed in float64 and rounded once",
        "zh": "同一个公式，用 float64 计算，只舍入一次",
    },
    values=("start",),
)
left_out = Agreement(within=1e-6, because=ROUNDING, values=("missing.*",))
grouped = Agreement(within=1e-6, because=ROUNDING, values=("halves", "groups"))
clipped_as_configured = Agreement(
    within=0.1,
    because={
        "en": "burn's configured clipping takes each tensor's own norm, clip_grad_norm_ the norm of all: 1 against 0.6 and 0.8",
        "zh": "burn 配置的裁剪用每个张量自己的范数，clip_grad_norm_ 用总范数：1 对 0.6 和 0.8",
    },
    values=("clipping.configured",),
    agrees=False,
)
clipped_alike = Agreement(
    within=2e-6,
    because={
        "en": "PyTorch adds 1e-6 to the norm, burn's own clipping next to nothing, which shows in the seventh digit; otherwise as above",
        "zh": "PyTorch 给范数加上 1e-6，burn 自带的裁剪加的几乎是零，差别在第七位数字；其余同上",
    },
    values=("clipping.each", "clipping.global", "global-norm", "global-norm.*"),
)
rates_agree = Agreement(
    within=1e-14,
    because={
        "en": "float64 numbers between 1 and 2 lie 2.2e-16 apart: room for 45 of those; a schedule that is one step off shows in the first digits",
        "zh": "1 到 2 之间相邻的 float64 数相距 2.2e-16：容得下 45 个这样的间距；错开一步，前几位数字就会不同",
    },
    values=(
        "rates.linear",
        "rates.exponential",
        "rates.step",
        "rates.cosine",
        "rates.noam",
        "rates.product",
        "rates.sequence",
        "rates.high",
    ),
)
constant_is_another = Agreement(
    within=0.1,
    because={
        "en": "ConstantLR begins with a third of the rate",
        "zh": "ConstantLR 先用三分之一的学习率",
    },
    values=("rates.constant",),
    agrees=False,
)
wrong_order = Agreement(
    within=0.1,
    because={
        "en": "each is in the other's order, so one runs early and one late",
        "zh": "两边各用了对方的顺序，一个早一步，一个晚一步",
    },
    values=("order",),
    agrees=False,
)
accumulated = Agreement(
    within=1e-6, because=ROUNDING, values=("accumulate.*", "learner")
)
own = Agreement(
    within=1e-6,
    because={
        "en": "each step is a sign times the rate, and no mean comes near enough to zero for a rounding to turn its sign",
        "zh": "每一步都是符号乘学习率，而没有哪个均值离零近到舍入能改变它的符号",
    },
    values=("own.*",),
)
kept_once = Agreement(
    within=0.0,
    because={
        "en": "halves and quarters are exact in binary floating point",
        "zh": "二分之一、四分之一在二进制浮点数里是精确的",
    },
    values=("once",),
    run="tied",
)

HEAD_WEIGHT = slice(16, 24)  # of all parameters, laid end to end
RATES = (
    "linear",
    "exponential",
    "step",
    "cosine",
    "noam",
    "product",
    "sequence",
    "constant",
)


@claim(
    en="Walking the module, burn finds the names and sizes that PyTorch's named_parameters gives, in its order: {left} of {right} lines",
    zh="burn 遍历模块时得到的名字、大小和次序，与 PyTorch 的 named_parameters 相同：{right} 行里 {left} 行",
)
def walked_alike(torch: Side, burn: Side) -> Verdict:
    left = torch.result.output["walk"].splitlines()
    right = burn.result.output["walk"].splitlines()
    return equal(sum(a == b for a, b in zip(left, right)), len(right))


def unmoved(side: Side, kind: str) -> int:
    """How many of the head's weights a step has left where they were, of one side."""
    after, before = side[f"missing.{kind}"], side["start"]
    return int((after[HEAD_WEIGHT] == before[HEAD_WEIGHT]).sum())


@claim(
    en="Without a gradient, {left} of {right} weights (8 in each framework) stay where they are, weight decay or not",
    zh="没有梯度时，即使有权重衰减，{right} 个权重（两边各 8 个）中也有 {left} 个原地不动",
)
def missing_stays(torch: Side, burn: Side) -> Verdict:
    return equal(unmoved(torch, "missing") + unmoved(burn, "missing"), 16)


@claim(
    en="With a gradient of zero, {left} of 16 weights (8 in each framework) stay where they are: weight decay moves all",
    zh="梯度为零时，16 个权重（两边各 8 个）中有 {left} 个原地不动：权重衰减让它们全都移动",
)
def zero_decays(torch: Side, burn: Side) -> Verdict:
    return equal(unmoved(torch, "zero") + unmoved(burn, "zero"), 0)


@claim(
    en="After a step with gradients that were already taken, {left} of {right} parameters are the ones from before",
    zh="用已被取走的梯度走一步之后，{right} 个参数里有 {left} 个和之前相同",
)
def taken_is_gone(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["taking"], burn["start"])


@claim(
    en="Two optimizers for two halves give the same bits as one optimizer with two rates, in PyTorch: {left} of {right} numbers",
    zh="PyTorch 里，两半各用一个优化器，与一个优化器两种学习率逐位相同：{right} 个数里 {left} 个",
)
def halves_torch(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["halves"], torch["rates-only"])


@claim(
    en="Two optimizers for two halves give the same bits as one optimizer with two rates, in burn: {left} of {right} numbers",
    zh="burn 里，两半各用一个优化器，与一个优化器两种学习率逐位相同：{right} 个数里 {left} 个",
)
def halves_burn(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["halves"], burn["rates-only"])


@claim(
    en="blocks.10 is in the group blocks.1, head.weight is not in the path head, and a fused group has lost its exclusion: {left}",
    zh="blocks.10 属于组 blocks.1；head.weight 不属于路径 head；合并后的组丢了排除条件：{left}",
)
def patterns_surprise(torch: Side, burn: Side) -> Verdict:
    return equal(burn["patterns"].tolist(), [1, 0, 1])


@claim(
    en="With the head alone, the group head. matches nothing: no weight moves by more than {left}",
    zh="只交出 head 时，组 head. 什么也匹配不到：权重最多移动 {left}",
)
def alone_by_name(torch: Side, burn: Side) -> Verdict:
    return equal(float(burn["alone.by name"][0]), 0.0)


@claim(
    en="With the head alone, the group of its ids matches: a weight moves by {left}, which is not {right}",
    zh="只交出 head 时，按 id 的组能匹配：有权重移动了 {left}，不是 {right}",
)
def alone_by_id(torch: Side, burn: Side) -> Verdict:
    return different(float(burn["alone.by id"][0]), 0.0)


@claim(
    en="burn's configured clipping takes both knobs equally far: {left} and {right}",
    zh="burn 配置的裁剪让两个旋钮走得一样远：{left} 和 {right}",
)
def direction_lost(torch: Side, burn: Side) -> Verdict:
    left, right = burn["clipping.configured"]
    return equal(float(left), float(right))


@claim(
    en="clip_grad_norm_ keeps the ratio of three to four: the ratio differs from it by {left}, at most {right}",
    zh="clip_grad_norm_ 保持三比四：比值与它相差 {left}，不超过 {right}",
)
def direction_kept(torch: Side, burn: Side) -> Verdict:
    first, second = torch["clipping.configured"].astype(np.float64)
    return at_most(abs(float(first / second) - 0.75), 1e-6)


@claim(
    en="Clipping set before the first step, before loading a record: both clip to {left}",
    zh="在第一步之前、在加载记录之前设置裁剪：两种都裁到 {left}",
)
def early_clips(torch: Side, burn: Side) -> Verdict:
    moves = burn["late"]
    return equal(sorted({-float(moves[0]), -float(moves[2])}), [0.5])


@claim(
    en="Clipping set after a step, after loading a record, or in the config of a group: the gradient of 4 goes through as {left}",
    zh="在走过一步之后、在加载记录之后、或在组的配置里设置裁剪：梯度 4 都原样通过，成了 {left}",
)
def late_does_not(torch: Side, burn: Side) -> Verdict:
    moves = burn["late"]
    late = {-float(moves[k]) for k in (1, 3, 4)}
    return equal(sorted(late), [4.0])


@claim(
    en="Seven of the eight schedules give rates that are at most {left} apart in the two frameworks, within {right}",
    zh="八种调度中的七种，两边的学习率至多相差 {left}，不超过 {right}",
)
def seven_agree(torch: Side, burn: Side) -> Verdict:
    apart = max(
        float(np.abs(torch[f"rates.{n}"] - burn[f"rates.{n}"]).max())
        for n in RATES[:-1]
    )
    return at_most(apart, 1e-14)


@claim(
    en="After T_max the cosine goes up again in both: the rate after six steps is {left} and {right}",
    zh="过了 T_max，两边的余弦都重新上升：第六步之后的学习率是 {left} 和 {right}",
)
def cosine_goes_on(torch: Side, burn: Side) -> Verdict:
    left, right = torch["rates.cosine"][6], burn["rates.cosine"][6]
    rises = left > torch["rates.cosine"][4] and right > burn["rates.cosine"][4]
    near = abs(left - right) < 1e-14
    return Verdict(f"{left:.3f}", "=", f"{right:.3f}", bool(rises and near))


@claim(
    en="In PyTorch's order, burn uses its first rate {left} times",
    zh="照 PyTorch 的顺序写，burn 把第一个学习率用了 {left} 次",
)
def burn_is_late(torch: Side, burn: Side) -> Verdict:
    used = burn["order"]
    return equal(int((used == used[0]).sum()), 2)


@claim(
    en="In burn's order, PyTorch begins with {left}, the second rate; the first is never used",
    zh="照 burn 的顺序写，PyTorch 一开始就用第二个学习率 {left}，第一个从没用上",
)
def torch_is_early(torch: Side, burn: Side) -> Verdict:
    return equal(float(torch["order"][0]), float(burn["order"][2]))


def step_of(side: Side, kind: str) -> np.ndarray:
    return side[f"accumulate.{kind}"].astype(np.float64) - side["start"]


@claim(
    en="In both frameworks the step with the summed gradients is twice that with their mean, to within {left} (at most {right})",
    zh="两边都是：用梯度之和走的一步，是用均值走的两倍，误差 {left}（不超过 {right}）",
)
def sum_is_twice(torch: Side, burn: Side) -> Verdict:
    apart = [
        np.abs(step_of(side, "sum") - 2 * step_of(side, "mean")).max()
        for side in (torch, burn)
    ]
    return at_most(float(max(apart)), 1e-6)


@claim(
    en="In both frameworks the mean of the halves' gradients gives the step of the whole batch, to within {left} (at most {right})",
    zh="两边都是：两半梯度的均值给出整批的那一步，误差 {left}（不超过 {right}）",
)
def mean_is_whole(torch: Side, burn: Side) -> Verdict:
    apart = [
        np.abs(step_of(side, "whole") - step_of(side, "mean")).max()
        for side in (torch, burn)
    ]
    return at_most(float(max(apart)), 1e-6)


@claim(
    en="The Learner logs these rates for its five batches: {left}",
    zh="Learner 给五个批次记下的学习率：{left}",
)
def logged_rates(torch: Side, burn: Side) -> Verdict:
    return equal(burn["logged"].tolist(), [0.0, 0.1, 0.1, 0.05, 0.025])


@claim(
    en="Signum saved, loaded and continued gives the bits of the uninterrupted run in PyTorch: {left} of {right}",
    zh="PyTorch 里，Signum 保存、加载、接着走，与不中断逐位相同：{right} 个里 {left} 个",
)
def own_resumes_torch(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["own.straight"], torch["own.resumed"])


@claim(
    en="Signum saved, loaded and continued gives the bits of the uninterrupted run in burn: {left} of {right}",
    zh="burn 里，Signum 保存、加载、接着走，与不中断逐位相同：{right} 个里 {left} 个",
)
def own_resumes_burn(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["own.straight"], burn["own.resumed"])


@claim(
    en="The same knob under two names stays one in PyTorch: {left} and {right}",
    zh="同一个旋钮两个名字，在 PyTorch 里始终是一个：{left} 和 {right}",
)
def tied_stays(torch: Side, burn: Side) -> Verdict:
    first, second = torch.run("tied")["tied"]
    return equal(float(first), float(second))


@claim(
    en="The same knob under two names comes apart in burn: {left} and {right}",
    zh="同一个旋钮两个名字，在 burn 里会分开：{left} 和 {right}",
)
def tied_parts(torch: Side, burn: Side) -> Verdict:
    first, second = burn.run("tied")["tied"]
    return different(float(first), float(second))


@claim(
    en="burn's first knob ends at {left}: one step with 3 + 4, one with 4 alone",
    zh="burn 的第一个旋钮停在 {left}：一步用的是 3 + 4，一步只用了 4",
)
def wrong_gradient(torch: Side, burn: Side) -> Verdict:
    first, _ = burn.run("tied")["tied"]
    return equal(float(first), -0.25 * (3 + 4) - 0.25 * 4)


@claim(
    en="Adding a group for the head after a step leaves Adam {left} tensors of state (before, after)",
    zh="走过一步之后给 head 加一个组，Adam 的状态张量数（前、后）：{left}",
)
def regrouped_forgets(torch: Side, burn: Side) -> Verdict:
    return equal(burn["regrouped"].tolist(), [8, 4])


@claim(
    en="With the body frozen by no_grad, {left} of the four parameters have a gradient",
    zh="用 no_grad 冻结 body 之后，四个参数中有 {left} 个有梯度",
)
def frozen_half(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["frozen"][0]), 2)


@figure
def parameters(torch: Side, burn: Side) -> int:
    return burn["start"].size


@table(
    en="schedule | the first five, in burn | max diff",
    zh="调度 | burn 的前五个 | 最大差距",
)
def rates(torch: Side, burn: Side) -> list[list[str]]:
    rows = []
    for name in RATES:
        ours = burn[f"rates.{name}"]
        apart = np.abs(torch[f"rates.{name}"] - ours).max()
        shown = " ".join(f"{rate:.3g}" for rate in ours[:5])
        rows.append([name, shown, f"{apart:.1e}" if apart else "0"])
    return rows
