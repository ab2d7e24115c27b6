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

EPOCHS = (1, 2, 3)

pytorch_burn = Agreement(
    within=1e-6,
    because={
        "en": "float32 numbers between 0.5 and 1 lie 6e-8 apart: room for 16 of those, while another formula would show in the second or third digit",
        "zh": "0.5 到 1 之间相邻的 float32 数相距 6e-8：容得下 16 个这样的间距；公式若有不同，第二、三位数字就会不同",
    },
)


def distances(torch: Side, burn: Side) -> np.ndarray:
    """The distance of the two training losses at each step, in ulp."""
    return ulps(torch["train_loss"], burn["train_loss"]).astype(int)


@claim(
    en="At no step are the training losses of PyTorch and burn more than {right} ulp apart; the most is {left}",
    zh="PyTorch 和 burn 的训练损失没有一步相差超过 {right} ulp，最多差 {left}",
)
def a_few_ulp(torch: Side, burn: Side) -> Verdict:
    return at_most(int(distances(torch, burn).max()), 16)


def by_epoch(torch: Side, burn: Side) -> np.ndarray:
    """The largest distance of the training losses in each epoch, in ulp."""
    return distances(torch, burn).reshape(len(EPOCHS), -1).max(axis=1)


@figure
def first_epoch_ulp(torch: Side, burn: Side) -> int:
    return int(by_epoch(torch, burn)[0])


@figure
def last_epoch_ulp(torch: Side, burn: Side) -> int:
    return int(by_epoch(torch, burn)[-1])


@claim(
    en="The losses do not drift apart: in the last epoch they are {left} ulp apart at most, no more than the first epoch's largest distance plus 4 ulp, {right}",
    zh="损失没有越走越远：最后一个 epoch 最多差 {left} ulp，不超过第一个 epoch 的最大差距加 4（即 {right}）",
)
def no_drift(torch: Side, burn: Side) -> Verdict:
    first, *_, last = by_epoch(torch, burn)
    return at_most(int(last), int(first) + 4)


@claim(
    en="PyTorch and burn print the same {right} lines, letter for letter",
    zh="PyTorch 和 burn 打印的 {right} 行一字不差",
)
def printed_alike(torch: Side, burn: Side) -> Verdict:
    lines = burn.result.output["start"].splitlines()
    return equal(
        sum(
            a == b
            for a, b in zip(torch.result.output["start"].splitlines(), lines)
        ),
        len(lines),
    )


@claim(
    en="PyTorch and burn have the same validation accuracy after every epoch",
    zh="每个 epoch 之后，PyTorch 和 burn 的验证准确率都相同",
)
def same_accuracy(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["valid_accuracy"], burn["valid_accuracy"])


@claim(
    en="{left} of {right} training losses of the Learner are bit-identical to those of the hand-written loop",
    zh="Learner 的 {right} 个训练损失中，{left} 个和手写循环逐位相同",
)
def learner_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["train_loss"], burn["learner.train_loss"])


@claim(
    en="With shuffling and the same seed, the hand-written loop and the Learner differ from the first loss on: {left} against {right}",
    zh="打乱数据、种子相同时，手写循环和 Learner 从第一个损失起就不同：{left} 对 {right}",
)
def shuffled_apart(torch: Side, burn: Side) -> Verdict:
    run = burn.run("shuffled")
    return different(
        float(run["train_loss"][0]), float(run["learner.train_loss"][0])
    )


@claim(
    en="With shuffling and a loader from to_device, {left} of {right} losses of the hand-written loop are bit-identical to the Learner's",
    zh="打乱数据时，手写循环的加载器也过一遍 to_device，{right} 个损失里就有 {left} 个和 Learner 逐位相同",
)
def shuffled_together(torch: Side, burn: Side) -> Verdict:
    run = burn.run("shuffled")
    return same_bits(run["forked.train_loss"], run["learner.train_loss"])


def whole(burn: Side, metric: str) -> np.ndarray:
    """The Learner's value of a validation metric for each epoch, rounded once to float32."""
    return np.array(
        [burn[f"learner.valid.{metric}.{epoch}.whole"][0] for epoch in EPOCHS],
        np.float32,
    )


@claim(
    en="The Learner's validation loss is the mean in which every batch weighs the same, in {left} of {right} epochs",
    zh="Learner 的验证损失是每批权重相同的平均（{right} 个 epoch 中的 {left} 个）",
)
def learner_loss_per_batch(torch: Side, burn: Side) -> Verdict:
    return same_bits(whole(burn, "Loss"), burn["valid_per_batch"])


@claim(
    en="The Learner's validation loss differs from the mean in which every sample weighs the same, in {left} of {right} epochs",
    zh="Learner 的验证损失不等于每个样本权重相同的平均（{right} 个 epoch 中的 {left} 个）",
)
def learner_loss_not_per_sample(torch: Side, burn: Side) -> Verdict:
    apart = int((whole(burn, "Loss") != burn["valid_per_sample"]).sum())
    return equal(apart, len(EPOCHS))


@claim(
    en="The Learner's accuracy is the mean in which every sample weighs the same, in {left} of {right} epochs",
    zh="Learner 的准确率是每个样本权重相同的平均（{right} 个 epoch 中的 {left} 个）",
)
def learner_accuracy_per_sample(torch: Side, burn: Side) -> Verdict:
    return same_bits(whole(burn, "Accuracy"), burn["valid_accuracy"])


@claim(
    en="The Learner leaves the checkpoints of the last two epochs, epoch and files: {left}",
    zh="Learner 留下最后两个 epoch 的检查点，epoch 与文件数：{left}",
)
def checkpoint_removed(torch: Side, burn: Side) -> Verdict:
    kept = [
        path for path in burn.result.sizes if path.startswith("run/checkpoint/")
    ]
    epochs = sorted(
        {int(path.removesuffix(".bpk").rpartition("-")[2]) for path in kept}
    )
    return equal(
        ", ".join(f"{epoch}: {len(kept) // len(epochs)}" for epoch in epochs),
        "2: 3, 3: 3",
    )


@claim(
    en="The optimizer's file, {left} bytes, is smaller than the model's, {right} bytes",
    zh="优化器的文件 {left} 字节，小于模型的 {right} 字节",
)
def optimizer_file_smaller(torch: Side, burn: Side) -> Verdict:
    sizes = burn.result.sizes
    return less(
        sizes["run/checkpoint/optim-3.bpk"], sizes["run/checkpoint/model-3.bpk"]
    )


@claim(
    en="Without checkpoints the hand-written loop takes less time than the Learner with metrics: {left} s against {right} s",
    zh="不存检查点时，手写循环比带指标的 Learner 快：{left} 秒对 {right} 秒",
)
def by_hand_is_quicker(torch: Side, burn: Side) -> Verdict:
    cost = burn.run("cost")
    return less(cost["by-hand"][0], cost["learner.metrics"][0])


@claim(
    en="Saving takes most of the hand-written loop's time: {left} s for everything else, {right} s for saving",
    zh="手写循环的时间大半花在存检查点上：其余 {left} 秒，存 {right} 秒",
)
def saving_costs_most(torch: Side, burn: Side) -> Verdict:
    cost = burn.run("cost")
    return less(
        cost["by-hand"][0], cost["by-hand.saving"][0] - cost["by-hand"][0]
    )


@table(
    en="step | PyTorch | burn by hand | burn's Learner | ulp",
    zh="步 | PyTorch | burn 手写 | burn 的 Learner | ulp",
)
def steps(torch: Side, burn: Side) -> list[list[str]]:
    """The training loss of all three programs at each step, and how far PyTorch is from burn."""
    columns = zip(
        torch["train_loss"],
        burn["train_loss"],
        burn["learner.train_loss"],
        distances(torch, burn),
    )
    return [
        [str(i), *(f"{loss:.8f}" for loss in losses), str(ulp)]
        for i, (*losses, ulp) in enumerate(columns)
    ]


@table(
    en="epoch | by hand, per batch | by hand, per sample | Learner's loss | accuracy by hand, % | Learner's accuracy, %",
    zh="epoch | 手写，按批平均 | 手写，按样本平均 | Learner 的损失 | 手写的准确率（%） | Learner 的准确率（%）",
)
def averages(torch: Side, burn: Side) -> list[list[str]]:
    """The validation figures of each epoch, from burn's loop by hand and from the Learner."""
    losses = zip(
        burn["valid_per_batch"], burn["valid_per_sample"], whole(burn, "Loss")
    )
    accuracies = zip(burn["valid_accuracy"], whole(burn, "Accuracy"))
    return [
        [
            str(epoch),
            *(f"{x:.6f}" for x in loss),
            *(f"{x:.2f}" for x in accuracy),
        ]
        for epoch, loss, accuracy in zip(EPOCHS, losses, accuracies)
    ]
