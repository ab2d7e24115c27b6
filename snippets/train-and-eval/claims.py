"""What the page asserts of its runs."""

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
    same_bits,
    table,
    ulps,
)

FEW_ROUNDINGS = {
    "en": "float32 steps near 1 are 6e-8 or 1.2e-7; the values reach 10, and another formula would show in the third digit",
    "zh": "1 附近 float32 的间距是 6e-8 或 1.2e-7，这些值最大到 10；公式若有不同，第三位数字就会不同",
}

dropout = Agreement(
    within=0.0,
    values=("dropout.*",),
    because={
        "en": "0 and 1 / 0.7, rounded once: nothing is summed, so the bits are to be equal",
        "zh": "0 和 1 / 0.7，只舍入一次，没有求和，所以要逐位相同",
    },
)
batch = Agreement(
    within=1e-6,
    values=(
        "batch.output",
        "batch.running_mean",
        "momentum.mean.*",
        "momentum.var.0.0",
    ),
    because=FEW_ROUNDINGS,
)
variance = Agreement(
    within=1e-2,
    values=("batch.running_var", "momentum.var.0.1", "momentum.var.1.0"),
    agrees=False,
    because={
        "en": "two definitions: with four values they differ by a third of the variance, times the momentum",
        "zh": "两种定义：四个数时相差方差的三分之一，再乘动量",
    },
)
gradients = Agreement(
    within=1e-5,
    values=("grad.*", "carried.*"),
    because={
        "en": "sums of 40 float32 terms that reach 10; another formula would show in the second or third digit",
        "zh": "40 个 float32 数求和，和最大到 10；公式若有不同，第二、三位数字就会不同",
    },
)
modes = Agreement(
    within=1.5e-4,
    values=("modes.*",),
    because={
        "en": "the values are rounded to the fourth digit, which may fall to either side",
        "zh": "这些值先舍入到小数点后第四位，那一位可能进也可能舍",
    },
)
training = Agreement(
    within=1e-5,
    values=("train_loss", "running.mean"),
    because={
        "en": "18 steps of float32 training, each losing a few roundings of 6e-8",
        "zh": "float32 训练 18 步，每一步有几次 6e-8 的舍入",
    },
)
unconverted = Agreement(
    within=1e-4,
    values=("valid_loss", "running.var"),
    agrees=False,
    because={
        "en": "what the two definitions of the running variance make of the same training",
        "zh": "同一次训练，运行方差的两种定义带来的差别",
    },
)
converted = Agreement(
    within=1e-5,
    values=("converted.*",),
    because={
        "en": "as for the training that comes before: 18 steps of float32",
        "zh": "与此前的训练相同：float32 的 18 步",
    },
)
controls = Agreement(
    within=2e-6,
    values=(
        "layer.output",
        "group.output",
        "instance.output",
        "rms.same_epsilon",
    ),
    because={
        "en": "normalised values stay below 2.5, where float32 steps are 2.4e-7; a wrong axis or epsilon would be far beyond",
        "zh": "归一化之后的值不超过 2.5，那里 float32 的间距是 2.4e-7；弄错轴或 epsilon，差距会大得多",
    },
)
rms_default = Agreement(
    within=1e-2,
    values=("rms.default",),
    agrees=False,
    because={
        "en": "the default epsilons differ, and the input is small",
        "zh": "默认的 epsilon 不同，输入又小",
    },
)
rms_f64 = Agreement(
    within=1e-12,
    values=("rms.f64",),
    agrees=False,
    because={
        "en": "float64 would agree to 1e-15; burn computes the mean square in float32",
        "zh": "float64 应当差在 1e-15 上下；burn 用 float32 算均方",
    },
)


def sides_within(
    torch: Side, burn: Side, name: str, about: float, sigma: float
) -> Verdict:
    """Both sides' draws lie within five standard deviations of what is expected."""
    apart = max(
        abs(float(side[name].flatten()[-1]) - about) for side in (torch, burn)
    )
    return at_most(apart, 5 * sigma)


KEEP = 0.7


@claim(
    en="The kept share is within five standard deviations of 0.7 on both sides: at most {left} away, {right} allowed",
    zh="两边保留的比例都在 0.7 的五个标准差之内：最多差 {left}，允许 {right}",
)
def kept_share(torch: Side, burn: Side) -> Verdict:
    sigma = float(np.sqrt(KEEP * (1 - KEEP) / torch["dropout.n"].item()))
    return sides_within(torch, burn, "dropout.kept", KEEP, sigma)


@claim(
    en="The mean after dropout is within five standard deviations of the mean before on both sides: at most {left} away, {right} allowed",
    zh="dropout 之后的均值都在之前均值的五个标准差之内：最多差 {left}，允许 {right}",
)
def mean_kept(torch: Side, burn: Side) -> Verdict:
    square, n = torch["dropout.square"].item(), torch["dropout.n"].item()
    sigma = float(np.sqrt(square * (1 - KEEP) / KEEP / n))
    before = float(torch["dropout.mean"][0])
    return sides_within(torch, burn, "dropout.mean", before, sigma)


@claim(
    en="On both sides all {right} outputs are the input times the gradient, to the bit: {left}",
    zh="两边全部 {right} 个输出都等于输入乘梯度，逐位相同：{left} 个",
)
def same_mask_backward(torch: Side, burn: Side) -> Verdict:
    same = min(int(side["dropout.same"].item()) for side in (torch, burn))
    return equal(same, int(torch["dropout.n"].item()))


@claim(
    en="The running variance of PyTorch minus burn's is a tenth of a third of the batch's: {left}, {right} expected",
    zh="PyTorch 的运行方差减去 burn 的，是批方差三分之一的十分之一：{left}，应为 {right}",
)
def a_third_more(torch: Side, burn: Side) -> Verdict:
    gap = float(torch["batch.running_var"][0] - burn["batch.running_var"][0])
    expected = 0.1 * 3.5 / 3
    return Verdict(gap, "≈", expected, abs(gap - expected) < 1e-6)


@claim(
    en="With momentum 1 the running mean is the batch's on both sides ({left}), with momentum 0 it stays {right}",
    zh="动量为 1 时两边的运行均值都是这一批的均值（{left}），为 0 时保持 {right}",
)
def weight_of_the_new(torch: Side, burn: Side) -> Verdict:
    new = {float(s["momentum.mean.1.0"][0]) for s in (torch, burn)}
    old = {float(s["momentum.mean.0.0"][0]) for s in (torch, burn)}
    left, right = max(new), max(old)
    return Verdict(left, "/", right, new == {3.0} and old == {0.0})


@claim(
    en="PyTorch raises and leaves its running variance at one; burn returns zeros: {left} of {right}",
    zh="PyTorch 报错，运行方差仍是一；burn 返回零：{right} 个里 {left} 个",
)
def one_is_silent(torch: Side, burn: Side) -> Verdict:
    printed = torch.run("batch-of-one").result.output["batch-of-one"]
    output = burn.run("batch-of-one")["output"]
    found = equal(int((output == 0).sum()), output.size)
    raised = printed.startswith("Expected more than 1 value per channel")
    still = bool((torch.run("batch-of-one")["var"] == 1).all())
    return Verdict(
        found.left, "=", found.right, found.holds and raised and still
    )


@claim(
    en="The batch of one counts as variance 0: each running variance falls from 1 to {left}",
    zh="只有一个样本的批按方差 0 计入：运行方差从 1 降到 {left}",
)
def one_counts(torch: Side, burn: Side) -> Verdict:
    var = burn.run("batch-of-one")["var"]
    right = 0.9
    close = bool((np.abs(var - right) < 1e-6).all())
    return Verdict(float(var[0]), "≈", right, close)


@claim(
    en="valid() gives the same {right} values on data with autodiff as on plain data: {left}",
    zh="valid() 在带 autodiff 的数据上和不带的数据上，{right} 个值里 {left} 个相同",
)
def valid_anywhere(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["modes.valid"], burn["modes.valid_on_autodiff"])


@claim(
    en="no_grad() leaves the layers training, as requires_grad_(False) does: {left} of {right} values are those of training",
    zh="no_grad() 不改变层的模式，requires_grad_(False) 也是：{right} 个值里 {left} 个和训练时相同",
)
def no_grad_trains(torch: Side, burn: Side) -> Verdict:
    train, still = burn["modes.train"], burn["modes.no_grad"]
    torch_too = np.array_equal(
        torch["modes.train"], torch["modes.requires_grad_"]
    )
    found = same_bits(train, still)
    return Verdict(found.left, "=", found.right, found.holds and torch_too)


@claim(
    en="freeze() does change it: {left} of {right} values are those of valid(), and a batch leaves the running mean at zero",
    zh="freeze() 会改变：{right} 个值里 {left} 个和 valid() 相同，再来一批，运行均值也还是零",
)
def freeze_evaluates(torch: Side, burn: Side) -> Verdict:
    found = same_bits(burn["modes.valid"], burn["modes.freeze"])
    still = not burn["modes.frozen_mean"].any()
    return Verdict(found.left, "=", found.right, found.holds and still)


@claim(
    en="to_device to the plain device changes nothing: {left} of {right} values are those of training",
    zh="用 to_device 移到不带 autodiff 的设备，什么也没变：{right} 个值里 {left} 个和训练时相同",
)
def to_device_keeps(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["modes.train"], burn["modes.moved"])


@claim(
    en="Validation leaves the running mean as it was, on both sides and after every epoch: {left} of {right} sides",
    zh="每个 epoch 的验证之后，运行均值都没有变，{right} 边里 {left} 边如此",
)
def validation_is_quiet(torch: Side, burn: Side) -> Verdict:
    return equal(sum(bool(s["untouched"].item()) for s in (torch, burn)), 2)


@claim(
    en="valid() gives the same loss whether the data carry autodiff or not: {left} and {right}",
    zh="数据带不带 autodiff，valid() 的损失都一样：{left} 和 {right}",
)
def valid_loss_anywhere(torch: Side, burn: Side) -> Verdict:
    return equal(
        float(burn["ways.right"][0]), float(burn["ways.on_autodiff"][0])
    )


@claim(
    en="With valid() forgotten, plain data do not help: the loss is PyTorch's without eval(), {left} against {right}",
    zh="忘了 valid()，数据不带 autodiff 也没用：损失等于 PyTorch 忘了 eval() 的损失，{left} 对 {right}",
)
def plain_is_no_help(torch: Side, burn: Side) -> Verdict:
    left = float(burn["ways.forgotten"][0])
    right = float(torch["ways.forgotten"].item())
    return Verdict(left, "≈", right, abs(left - right) < 1e-5)


@claim(
    en="Forgetting moves the running mean on both sides: {left} of {right}",
    zh="忘了切换，两边的运行均值都会变：{right} 边里 {left} 边",
)
def forgetting_moves(torch: Side, burn: Side) -> Verdict:
    return equal(sum(bool(s["ways.moved"].item()) for s in (torch, burn)), 2)


@claim(
    en="Forgetting flatters here: {left} instead of {right} in PyTorch",
    zh="这里忘了切换反而好看：PyTorch 是 {left}，本来应为 {right}",
)
def forgetting_flatters(torch: Side, burn: Side) -> Verdict:
    return less(
        float(torch["ways.forgotten"].item()), float(torch["ways.right"].item())
    )


@claim(
    en="A file saved from the training model lacks the last batch: its running mean is {left}, the layer's {right}",
    zh="从训练中的模型存的文件缺最后一批：文件里的运行均值是 {left}，层里是 {right}",
)
def file_is_late(torch: Side, burn: Side) -> Verdict:
    file, sync = (float(burn[f"saved.{n}"][0]) for n in ("file", "sync"))
    on_time = torch["saved.file"][0] == torch["saved.layer"][0]
    return Verdict(file, "≠", sync, bool(file == 0 and sync != 0 and on_time))


@claim(
    en="Saved after valid(), the file has it: {left} = {right}",
    zh="先 valid() 再存，文件里就有：{left} = {right}",
)
def file_after_valid(torch: Side, burn: Side) -> Verdict:
    return equal(float(burn["saved.valid"][0]), float(burn["saved.sync"][0]))


@claim(
    en="Loaded over a layer that has trained, a fresh layer's mean of 0 becomes {left} in burn and {right} in PyTorch",
    zh="在训练过的层上载入新层的均值 0，burn 里变成 {left}，PyTorch 里是 {right}",
)
def loaded_is_overwritten(torch: Side, burn: Side) -> Verdict:
    left = float(burn["loaded.mean"][0])
    right = float(torch["loaded.mean"][0])
    late = float(burn["loaded.after_valid"][0])
    return Verdict(left, "≠", right, left != 0 and right == 0 and late == 0)


@claim(
    en="In burn's clone the weights stay, the running mean moves: {left}",
    zh="burn 的 clone：权重不变，运行均值变了：{left}",
)
def clone_shares(torch: Side, burn: Side) -> Verdict:
    moved = burn.run("best")["moved"].astype(bool).tolist()
    return equal(str(moved), str([False, True, False]))


@claim(
    en="In PyTorch's deepcopy nothing moves, in its state_dict() everything: {left}",
    zh="PyTorch 的 deepcopy 什么都不变，state_dict() 全都变：{left}",
)
def deepcopy_keeps(torch: Side, burn: Side) -> Verdict:
    moved = torch.run("best")["moved"].astype(bool).tolist()
    return equal(str(moved), str([False, False, True, True]))


@claim(
    en="InstanceNorm with 3 channels has {left} parameters in PyTorch and {right} in burn",
    zh="3 个通道的 InstanceNorm，PyTorch 有 {left} 个参数，burn 有 {right} 个",
)
def instance_affine(torch: Side, burn: Side) -> Verdict:
    found = [int(s["instance.parameters"].item()) for s in (torch, burn)]
    return Verdict(*found[:1], "≠", found[1], found == [0, 6])


@claim(
    en="BatchNorm with 3 channels counts {left} parameters in PyTorch and {right} in burn",
    zh="3 个通道的 BatchNorm，PyTorch 数出 {left} 个参数，burn 数出 {right} 个",
)
def statistics_counted(torch: Side, burn: Side) -> Verdict:
    found = [int(s["batch.parameters"].item()) for s in (torch, burn)]
    return Verdict(*found[:1], "≠", found[1], found == [6, 12])


def apart(torch: Side, burn: Side, name: str) -> float:
    return float(
        np.abs(torch[name].astype(float) - burn[name].astype(float)).max()
    )


@figure
def valid_gap(torch: Side, burn: Side) -> float:
    """How far the last validation losses are apart, relative to PyTorch's, before the conversion."""
    left, right = torch["valid_loss"][-1], burn["valid_loss"][-1]
    return float((left - right) / left)


@table(
    en="layer | input or setting | PyTorch | burn | apart",
    zh="层 | 输入或设置 | PyTorch | burn | 相差",
)
def neighbours(torch: Side, burn: Side) -> list[list[str]]:
    def row(layer: str, what: str, name: str) -> list[str]:
        texts = [f"{s[name].flatten()[-1]:.5f}" for s in (torch, burn)]
        return [layer, what, *texts, f"{apart(torch, burn, name):.0e}"]

    def count(layer: str, name: str) -> list[str]:
        found = [str(int(s[name].item())) for s in (torch, burn)]
        return [layer, "num_params()", *found, ""]

    return [
        row("LayerNorm(3)", "[1, 2, 4]", "layer.output"),
        row("GroupNorm(2, 4)", "0, 1, 4, 9, …", "group.output"),
        row("InstanceNorm(4)", "0, 1, 4, 9, …", "instance.output"),
        count("InstanceNorm(3)", "instance.parameters"),
        count("BatchNorm(3)", "batch.parameters"),
        row("RmsNorm(3)", "[1e-3, 2e-3, 4e-3]", "rms.default"),
        row("RmsNorm(3)", "epsilon 1e-5", "rms.same_epsilon"),
        row("RmsNorm(3)", "[1/3, 2/3, 4/3] f64", "rms.f64"),
    ]


@figure
def loss_ulp(torch: Side, burn: Side) -> int:
    return int(ulps(torch["train_loss"], burn["train_loss"]).max())
