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
    ulps,
)

pytorch_burn = Agreement(
    within=2e-6,
    values=(
        "whole.*",
        "task.*",
        "two_batches.*",
        "weighted.*",
        "resumed.*",
        "by_hand.*",
        "interrupted.*",
        "devices.*",
    ),
    because={
        "en": "losses around 1 after 28 updates with momentum: float32 numbers there lie 1.2e-7 apart, another order of additions moves them by a few of those; another formula or another epoch shows in the second or third digit",
        "zh": "带动量更新 28 次之后，损失在 1 左右：那里相邻的 float32 数相距 1.2e-7，加法次序不同会差上几个；公式不同或者 epoch 不同，第二、三位数字就会不同",
    },
)

adam = Agreement(
    within=5e-5,
    values=("adam*",),
    because={
        "en": "Adam divides by the root of a running mean of squares, which makes small gradients, and their rounding, as large as any: more room than for SGD; another epoch's order or a lost state shows in the second digit",
        "zh": "Adam 要除以梯度平方滑动平均的根，小梯度连同它的舍入会被放大，所以比 SGD 多留一些；状态丢了或者 epoch 错了，第二位数字就会不同",
    },
)

second_patience = Agreement(
    within=2e-6,
    run="second-patience",
    because={
        "en": "as in the plain run; the epochs at which the trainings stop are integers and must be equal",
        "zh": "同主运行；停在哪个 epoch 是整数，必须相等",
    },
)


def epochs(numbers: np.ndarray) -> str:
    return " ".join(str(int(n)) for n in numbers)


def pairs(left: np.ndarray, right: np.ndarray) -> int:
    """How many numbers of two arrays are the same bits."""
    return sum(a.tobytes() == b.tobytes() for a, b in zip(left, right))


def steps(side: Side) -> int:
    """Updates in an epoch."""
    return -(-int(side["task.train"][0]) // int(side["task.batch"][0]))


def after(side: Side, epoch: int, name: str = "whole.train_loss") -> np.ndarray:
    """The losses of the uninterrupted training after an epoch."""
    return side[name][epoch * steps(side) :]


# The training


@claim(
    en="PyTorch and burn print the same lines for the same training: {left} of {right}",
    zh="同一次训练，PyTorch 和 burn 打印的 {right} 行里有 {left} 行一字不差",
)
def printed_alike(torch: Side, burn: Side) -> Verdict:
    left = torch.result.output["whole"].splitlines()
    right = burn.result.output["whole"].splitlines()
    return equal(sum(a == b for a, b in zip(left, right)), len(right))


@claim(
    en="Both stop after the same epoch and keep the same ones: {left}",
    zh="两边停在同一个 epoch，留下的也相同：{left}",
)
def same_kept(torch: Side, burn: Side) -> Verdict:
    return equal(epochs(torch["whole.kept"]), epochs(burn["whole.kept"]))


@claim(
    en="What is kept is the best epoch and the last two: {left}",
    zh="留下的是最好的一个和最后两个：{left}",
)
def best_and_last_two(torch: Side, burn: Side) -> Verdict:
    losses = burn["whole.per_batch"]
    best, last = int(losses.argmin()) + 1, len(losses)
    return equal(
        epochs(burn["whole.kept"]),
        epochs(np.array(sorted({best, last - 1, last}))),
    )


@claim(
    en="The learning rate changes with every update: {left} different rates in {right} updates",
    zh="学习率每次更新都变：{right} 次更新用了 {left} 个不同的学习率",
)
def rate_per_update(torch: Side, burn: Side) -> Verdict:
    rates = burn["whole.rates"]
    return equal(len(np.unique(rates)), len(rates))


@claim(
    en="After the early stop, the result names an interruption or an error: {left}",
    zh="提前停下之后，结果里有没有 interrupted 或 error：{left}",
)
def early_stop_is_silent(torch: Side, burn: Side) -> Verdict:
    named = burn["whole.interrupted"].any() or burn["whole.error"].any()
    return equal(bool(named), False)


@figure
def best_epoch(torch: Side, burn: Side) -> int:
    return int(burn["whole.per_batch"].argmin()) + 1


@figure
def last_epoch(torch: Side, burn: Side) -> int:
    return len(burn["whole.per_batch"])


@figure
def last_batch(torch: Side, burn: Side) -> int:
    """How many samples are in the last validation batch."""
    return int(burn["task.valid"][0] % burn["task.batch"][0])


@claim(
    en="PyTorch and burn use the same learning rates, to the bit of float64: {left} of {right}",
    zh="PyTorch 和 burn 用的学习率逐位相同（float64）：{right} 个里 {left} 个",
)
def same_rates(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["whole.rates"], burn["whole.rates"])


# Weighted


@claim(
    en="By the mean over samples another epoch is the best: {right} instead of {left}",
    zh="按样本平均，最好的是另一个 epoch：第 {right} 个而不是第 {left} 个",
)
def another_best(torch: Side, burn: Side) -> Verdict:
    by_batch, by_sample = burn["whole.kept"], burn["weighted.kept"]
    return less(int(by_batch.min()), int(by_sample.min()))


@claim(
    en="Stopped and kept by the mean over samples, both have the epochs {left}",
    zh="按样本平均来停和留，两边剩下的都是 epoch {left}",
)
def weighted_alike(torch: Side, burn: Side) -> Verdict:
    return equal(epochs(torch["weighted.kept"]), epochs(burn["weighted.kept"]))


@claim(
    en="Of two batches (4 samples of mean 1, 1 sample of 6) LossMetric makes {left}, the metric of our own {right}",
    zh="两批（4 个样本、平均 1；1 个样本、为 6），LossMetric 得 {left}，自己的指标得 {right}",
)
def loss_metric_counts_batches(torch: Side, burn: Side) -> Verdict:
    return different(
        float(burn["two_batches.per_batch"][0]),
        float(burn["two_batches.per_sample"][0]),
    )


@claim(
    en="Fed the losses of the samples, not yet averaged, LossMetric makes {left}, the mean over samples",
    zh="喂给 LossMetric 未平均的逐样本损失，它得 {left}，正是按样本的平均",
)
def unreduced_is_weighted(torch: Side, burn: Side) -> Verdict:
    return equal(
        float(burn["two_batches.unreduced"][0]),
        float(burn["two_batches.per_sample"][0]),
    )


# Resumed


@claim(
    en="burn: {left} of {right} losses of the resumed training are bit-identical to the uninterrupted one's",
    zh="burn：续训的 {right} 个损失里 {left} 个和不间断的逐位相同",
)
def resumed_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["whole.train_loss"], burn["resumed.train_loss"])


@claim(
    en="burn: {left} of {right} parameters end up with the same bits, resumed or not",
    zh="burn：{right} 个参数里 {left} 个最后逐位相同，续训与否都一样",
)
def resumed_same_parameters(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["whole.params"], burn["resumed.params"])


@claim(
    en="burn, Adam: {left} of {right} losses of the resumed training are bit-identical",
    zh="burn，Adam：续训的 {right} 个损失里 {left} 个逐位相同",
)
def adam_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["adam.train_loss"], burn["adam-resumed.train_loss"])


@claim(
    en="PyTorch: {left} of {right} losses of the resumed training are bit-identical to the uninterrupted one's",
    zh="PyTorch：续训的 {right} 个损失里 {left} 个和不间断的逐位相同",
)
def torch_resumed_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["whole.train_loss"], torch["resumed.train_loss"])


@claim(
    en="burn: {left} of {right} learning rates of the resumed training are the uninterrupted one's, to the bit",
    zh="burn：续训的 {right} 个学习率里 {left} 个和不间断的逐位相同",
)
def scheduler_resumes(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["whole.rates"], burn["resumed.rates"])


@claim(
    en="The resumed training leaves the checkpoints {left}, the uninterrupted one {right}",
    zh="续训留下的检查点是 {left}，不间断的是 {right}",
)
def resumed_keeps_more(torch: Side, burn: Side) -> Verdict:
    left, right = burn["resumed.kept"], burn["whole.kept"]
    verdict = different(epochs(left), epochs(right))
    more = set(right.tolist()) < set(left.tolist())
    return Verdict(verdict.left, verdict.relation, verdict.right, more)


@claim(
    en="PyTorch's loop keeps the epochs {left}, resumed or not",
    zh="PyTorch 的循环续训与否都留下 epoch {left}",
)
def torch_keeps_the_same(torch: Side, burn: Side) -> Verdict:
    return equal(epochs(torch["resumed.kept"]), epochs(torch["whole.kept"]))


@claim(
    en="Without checkpointers, checkpoint(n) starts from new weights: {left} of {right} losses are those of the first epoch",
    zh="没有检查点器时，checkpoint(n) 从新权重开始：{right} 个损失里 {left} 个就是第一个 epoch 的",
)
def forgotten_is_new(torch: Side, burn: Side) -> Verdict:
    return same_bits(
        burn["forgotten.train_loss"], burn["whole.train_loss"][: steps(burn)]
    )


@claim(
    en="From the files, by hand: {left} of {right} losses are bit-identical to the Learner's",
    zh="从文件手写接着训：{right} 个损失里 {left} 个和 Learner 的逐位相同",
)
def by_hand_same_bits(torch: Side, burn: Side) -> Verdict:
    first = int(burn["whole.kept"][0])
    learner = after(burn, first)[: steps(burn)]
    return same_bits(burn["by_hand.train_loss"], learner)


# The order


def order(side: Side, name: str) -> np.ndarray:
    """The rows read in each epoch, (epochs, rows)."""
    return side[name].reshape(-1, int(side["task.train"][0]))


@claim(
    en="burn: the third epoch, resumed, reads {left} of {right} rows in the order of the first",
    zh="burn：续训时的第三个 epoch 按第一个 epoch 的次序读，{right} 行里 {left} 行对得上",
)
def order_starts_anew(torch: Side, burn: Side) -> Verdict:
    first = order(burn, "shuffled.rows")[0]
    return equal(int((order(burn, "naive.rows")[0] == first).sum()), first.size)


@claim(
    en="PyTorch: the third epoch, resumed with a new generator of the same seed, reads {left} of {right} rows in the order of the first",
    zh="PyTorch：用种子相同的新发生器续训，第三个 epoch 按第一个 epoch 的次序读，{right} 行里 {left} 行对得上",
)
def torch_order_starts_anew(torch: Side, burn: Side) -> Verdict:
    first = order(torch, "shuffled.rows")[0]
    return equal(
        int((order(torch, "naive.rows")[0] == first).sum()), first.size
    )


@claim(
    en="burn: shuffled and resumed, {left} of the {right} losses that follow are the uninterrupted one's",
    zh="burn：打乱后续训，后面 {right} 个损失里有 {left} 个和不间断的相同",
)
def shuffled_apart(torch: Side, burn: Side) -> Verdict:
    left, right = burn["naive.train_loss"], burn["shuffled.train_loss"]
    equal = pairs(left, right)
    return Verdict(equal, "of", right.size, equal == 0)


@claim(
    en="burn: with the orders skipped that were used up, {left} of {right} losses are bit-identical",
    zh="burn：跳过已经用掉的次序，{right} 个损失里 {left} 个逐位相同",
)
def skipped_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["skipped.train_loss"], burn["shuffled.train_loss"])


@claim(
    en="PyTorch: with the generator's state restored, {left} of {right} losses are bit-identical",
    zh="PyTorch：恢复发生器的状态，{right} 个损失里 {left} 个逐位相同",
)
def restored_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["restored.train_loss"], torch["shuffled.train_loss"])


# Interrupted


@claim(
    en="Both end within the third epoch, after {left} of its steps",
    zh="两边都停在第三个 epoch 里，它的第 {left} 步之后",
)
def within_the_epoch(torch: Side, burn: Side) -> Verdict:
    return equal(
        torch["interrupted.train_loss"].size,
        int(burn["interrupted.lines"][0]) - 1,
    )


@claim(
    en="The interrupted epoch has no checkpoint: the newest is {left}",
    zh="被打断的 epoch 没有检查点：最新的是第 {left} 个",
)
def no_checkpoint(torch: Side, burn: Side) -> Verdict:
    return equal(int(burn["interrupted.kept"].max()), 2)


@claim(
    en="Resumed from the last whole epoch, {left} of {right} losses are the uninterrupted one's, to the bit",
    zh="从最后一个完整的 epoch 续训，{right} 个损失里 {left} 个和不间断的逐位相同",
)
def interrupted_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["interrupted.again"], after(burn, 2))


# A used folder


@claim(
    en="The second training in the same folder stops after epoch {left}; in a new folder after epoch {right}",
    zh="在同一个文件夹里训第二次，停在 epoch {left}；换个新文件夹，停在 epoch {right}",
)
def used_folder_stops(torch: Side, burn: Side) -> Verdict:
    return less(int(burn["reused.kept"].max()), int(burn["fresh.kept"].max()))


@claim(
    en="Its loss had fallen in every epoch: {left} of {right}",
    zh="它的损失其实每个 epoch 都在降：{right} 次里 {left} 次",
)
def it_was_falling(torch: Side, burn: Side) -> Verdict:
    fell = np.diff(burn["reused.per_batch"]) < 0
    return equal(int(fell.sum()), fell.size)


@claim(
    en="Until then it is the same training as in the new folder: {left} of {right} validation losses have the same bits",
    zh="在那之前它和新文件夹里是同一次训练：{right} 个验证损失里 {left} 个逐位相同",
)
def same_until_then(torch: Side, burn: Side) -> Verdict:
    used = burn["reused.per_batch"]
    return same_bits(used, burn["fresh.per_batch"][: used.size])


@claim(
    en="It stops and keeps where the first training did: {left}",
    zh="它停的地方、留的检查点都是第一次训练的：{left}",
)
def the_first_ones_epochs(torch: Side, burn: Side) -> Verdict:
    return equal(epochs(burn["reused.kept"]), epochs(burn["whole.kept"]))


# Devices


@claim(
    en="A model from a device without autodiff, after train(): {left} of {right} losses have the same bits",
    zh="不带 autodiff 的设备上的模型，经过 train()：{right} 个损失里 {left} 个逐位相同",
)
def plain_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["plain.train_loss"], burn["whole.train_loss"])


@claim(
    en="With two devices, burn's parameters are at most {left} from those of summed gradients in PyTorch (tolerance {right})",
    zh="用两个设备时，burn 的参数和 PyTorch 里梯度相加得到的最多相差 {left}（容差 {right}）",
)
def devices_add_up(torch: Side, burn: Side) -> Verdict:
    apart = np.abs(torch["devices.params"] - burn["devices.params"]).max()
    return at_most(float(apart), 2e-6)


@claim(
    en="With the mean of the two gradients instead, they would be {left} apart, more than {right}",
    zh="换成两份梯度的平均，就会相差 {left}，超过 {right}",
)
def not_the_mean(torch: Side, burn: Side) -> Verdict:
    apart = np.abs(torch["devices.mean"] - burn["devices.params"]).max()
    return Verdict(float(apart), ">", 1e-2, bool(apart > 1e-2))


@claim(
    en="Two devices take two batches for one update: {left} learning rates in {right} batches",
    zh="两个设备，两批更新一次：{right} 批用了 {left} 个学习率",
)
def one_update_for_two(torch: Side, burn: Side) -> Verdict:
    rates = burn["devices.rates"]
    left, right = len(np.unique(rates)), rates.size
    return Verdict(left, "half of", right, 2 * left == right)


# The brain-teaser


@claim(
    en="Both stop after epoch {left}, the uninterrupted training after epoch {right}",
    zh="两边都停在 epoch {left}，不间断的停在 epoch {right}",
)
def patience_anew(torch: Side, burn: Side) -> Verdict:
    run = "second-patience"
    left, also = (side.run(run)["again.last"][0] for side in (torch, burn))
    right = burn["whole.kept"].max()
    return Verdict(int(left), "≠", int(right), left == also and left != right)


@claim(
    en="With the losses of all epochs at hand, both stop after epoch {left}",
    zh="手里有全部 epoch 的损失时，两边都停在 epoch {left}",
)
def patience_from_all(torch: Side, burn: Side) -> Verdict:
    run = "second-patience"
    left, also = (int(s.run(run)["logs.last"][0]) for s in (torch, burn))
    right = int(burn["whole.kept"].max())
    return Verdict(left, "=", right, left == also == right)


@claim(
    en="From the best epoch on the validation loss rises in every epoch: {left} of {right}",
    zh="从最好的 epoch 起，验证损失每个 epoch 都在升：{right} 次里 {left} 次",
)
def rising(torch: Side, burn: Side) -> Verdict:
    losses = burn.run("second-patience")["again.per_batch"]
    rose = np.diff(losses[int(losses.argmin()) :]) > 0
    return equal(int(rose.sum()), rose.size)


@table(
    en="epoch | PyTorch | burn | used folder, slower",
    zh="epoch | PyTorch | burn | 旧文件夹，学习率更小",
)
def validation(torch: Side, burn: Side) -> list[list[str]]:
    """The validation loss per batch after each epoch."""
    columns = zip(
        torch["whole.per_batch"],
        burn["whole.per_batch"],
        burn["reused.per_batch"],
    )
    return [
        [str(epoch), *(f"{x:.6f}" for x in losses)]
        for epoch, losses in enumerate(columns, start=1)
    ]


@figure
def worst_ulp(torch: Side, burn: Side) -> int:
    left, right = torch["whole.train_loss"], burn["whole.train_loss"]
    return int(ulps(left, right).max())
