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
    less,
    same_bits,
    table,
    ulps,
)

EPOCHS = (1, 2, 3)

pytorch_burn = Agreement(
    within=1e-6,
    because={
        "en": "float32 numbers between 0.5 and 1 lie 6e-8 apart: this leaves room for 16 roundings, and for nothing else",
        "zh": "0.5 到 1 之间的 float32 数彼此相距 6e-8：这个容差容得下 16 次舍入，容不下别的",
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


@claim(
    en="In the last epoch the losses are no more than 4 ulp further apart than in the first: {left} against a limit of {right}",
    zh="最后一个 epoch 的损失差距，比第一个 epoch 最多大 4 ulp：实测 {left}，上限 {right}",
)
def no_drift(torch: Side, burn: Side) -> Verdict:
    steps = distances(torch, burn).reshape(len(EPOCHS), -1)
    return at_most(int(steps[-1].max()), int(steps[0].max()) + 4)


@claim(
    en="PyTorch and burn print the same {right} lines, letter for letter",
    zh="PyTorch 和 burn 打印的 {right} 行一字不差",
)
def printed_alike(torch: Side, burn: Side) -> Verdict:
    lines = burn.result.output["loop"].splitlines()
    return equal(
        sum(
            a == b
            for a, b in zip(torch.result.output["loop"].splitlines(), lines)
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
    en="{left} of {right} training losses of the Learner are those of the loop by hand, bit for bit",
    zh="Learner 的 {right} 个训练损失里有 {left} 个和手写循环逐位相同",
)
def learner_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["train_loss"], burn["learner.train_loss"])


@claim(
    en="With shuffling and the same seed, the loop by hand and the Learner differ from the first loss on: {left} against {right}",
    zh="打乱数据、种子相同时，手写循环和 Learner 从第一个损失起就不同：{left} 对 {right}",
)
def shuffled_apart(torch: Side, burn: Side) -> Verdict:
    run = burn.run("shuffled")
    return different(
        float(run["train_loss"][0]), float(run["learner.train_loss"][0])
    )


def whole(burn: Side, metric: str) -> np.ndarray:
    """The Learner's value of a validation metric for each epoch, rounded once to float32."""
    return np.array(
        [burn[f"learner.valid.{metric}.{epoch}.whole"][0] for epoch in EPOCHS],
        np.float32,
    )


@claim(
    en="The Learner's validation loss is the mean in which every batch weighs the same, in {left} of {right} epochs",
    zh="Learner 的验证损失是每批权重相同的平均，{right} 个 epoch 里有 {left} 个如此",
)
def learner_loss_per_batch(torch: Side, burn: Side) -> Verdict:
    return same_bits(whole(burn, "Loss"), burn["valid_per_batch"])


@claim(
    en="The Learner's validation loss differs from the mean in which every sample weighs the same, in {left} of {right} epochs",
    zh="Learner 的验证损失不等于每个样本权重相同的平均，{right} 个 epoch 里有 {left} 个如此",
)
def learner_loss_not_per_sample(torch: Side, burn: Side) -> Verdict:
    apart = int((whole(burn, "Loss") != burn["valid_per_sample"]).sum())
    return equal(apart, len(EPOCHS))


@claim(
    en="The Learner's accuracy is the mean in which every sample weighs the same, in {left} of {right} epochs",
    zh="Learner 的准确率是每个样本权重相同的平均，{right} 个 epoch 里有 {left} 个如此",
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
    en="Without checkpoints the Learner takes {left} s instead of {right} s",
    zh="不存检查点时，Learner 用 {left} 秒，存则用 {right} 秒",
)
def checkpoints_cost(torch: Side, burn: Side) -> Verdict:
    cost = burn.run("cost")
    return less(cost["learner.no-checkpoints"][0], cost["learner"][0])


@claim(
    en="On so small a task the loop by hand, {left} s, takes less than the Learner, {right} s",
    zh="任务这么小的时候，手写循环（{left} 秒）比 Learner（{right} 秒）快",
)
def learner_costs_more(torch: Side, burn: Side) -> Verdict:
    cost = burn.run("cost")
    return less(cost["hand-written"][0], cost["learner"][0])


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
