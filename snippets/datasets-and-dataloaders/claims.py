"""What the page asserts of its runs."""

import re
from math import comb

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    claim,
    different,
    equal,
    figure,
    less,
    same_bits,
)

pytorch_burn = Agreement(
    within=0.0,
    because={
        "en": "indices are integers, and a feature is one sine in float64, rounded to float32 once: there is nothing to round differently",
        "zh": "下标是整数；一个特征只是 float64 里的一个正弦值，再舍入成 float32 一次，没有别的舍入可以不同",
    },
)


def flag(side: Side, name: str) -> bool:
    return bool(np.asarray(side[name]).item())


def number(side: Side, name: str) -> int:
    return int(np.asarray(side[name]).item())


def features(side: Side, prefix: str) -> np.ndarray:
    """The features of all three batches, one after the other."""
    return np.concatenate([side[f"{prefix}.{i}.x"].ravel() for i in range(3)])


@claim(
    en="{left} of {right} features in the batches are bit-identical in PyTorch and burn",
    zh="各批里的 {right} 个特征，PyTorch 和 burn 有 {left} 个逐位相同",
)
def same_batches(torch: Side, burn: Side) -> Verdict:
    return same_bits(features(torch, "batches"), features(burn, "batches"))


@claim(
    en="PyTorch's default_collate makes the same batches as the collate function written here: {left}",
    zh="PyTorch 的 default_collate 拼出的批和这里手写的 collate 相同：{left}",
)
def default_collate_same(torch: Side, burn: Side) -> Verdict:
    return equal(flag(torch, "batches.default_collate"), True)


@claim(
    en="len of PyTorch's loader counts {left} batches, num_items of burn's counts {right} items",
    zh="PyTorch 加载器的 len 数的是批，{left} 批；burn 的 num_items 数的是样本，{right} 个",
)
def lengths_differ(torch: Side, burn: Side) -> Verdict:
    return different(
        number(torch, "batches.len"), number(burn, "batches.num_items")
    )


@claim(
    en="burn's loader gives {left} batches, as many as PyTorch's: {right}",
    zh="burn 的加载器给出 {left} 批，和 PyTorch 的 {right} 批一样多",
)
def as_many_batches(torch: Side, burn: Side) -> Verdict:
    return equal(number(burn, "batches.count"), number(torch, "batches.len"))


@claim(
    en="PyTorch's default_collate keeps Python floats as float64: {left} of {right} are bit-identical to burn's tensor with F64 asked for",
    zh="PyTorch 的 default_collate 把 Python 浮点数留作 float64：{right} 个里有 {left} 个和 burn 指定 F64 的张量逐位相同",
)
def collated_doubles(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["types.collated"], burn["types.float64"])


@claim(
    en="burn's tensor of f64 numbers, no type asked for, is bit-identical to PyTorch's float32 tensor: {left} of {right}",
    zh="burn 不指定类型、由 f64 数建的张量，和 PyTorch 的 float32 张量逐位相同：{right} 个里 {left} 个",
)
def narrowed(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["types.float32"], burn["types.float32"])


@claim(
    en="Labels are of type {left} in burn and {right} in PyTorch, no type asked for",
    zh="不指定类型时，标签在 burn 里是 {left}，在 PyTorch 里是 {right}",
)
def label_types(torch: Side, burn: Side) -> Verdict:
    types = (
        burn.result.values["types.default_labels"].dtype,
        torch.result.values["types.labels"].dtype,
    )
    return Verdict(types[0], "≠", types[1], types == ("i32", "i64"))


@claim(
    en="Batches of a loader whose device has autodiff have it too; those of a loader moved to inner(), or built without a device, don't ({left} has it, of {right} loaders)",
    zh="加载器的设备带 autodiff，批也带；搬到 inner() 上的、没有指定设备的，批都不带（{right} 个加载器里 {left} 个带）",
)
def device_decides(torch: Side, burn: Side) -> Verdict:
    flags = [flag(burn, f"device.{name}") for name in ("set", "moved", "none")]
    return Verdict(sum(flags), "of", len(flags), flags == [True, False, False])


@claim(
    en="With the same seed, PyTorch puts {left} into the small part of the split, burn {right}",
    zh="种子相同，划到小的那一份里的样本，PyTorch 是 {left}，burn 是 {right}",
)
def split_differs(torch: Side, burn: Side) -> Verdict:
    return different(
        torch["transforms.split.valid"].tolist(),
        burn["transforms.split.valid"].tolist(),
    )


@claim(
    en="Of the first draws, as many as there are items, {left} are distinct in PyTorch: every item comes once before one comes twice",
    zh="PyTorch 最先抽出的、和样本数一样多的那几个里，有 {left} 个不同：每个样本都来过一次，才有来第二次的",
)
def sampler_rounds(torch: Side, burn: Side) -> Verdict:
    return equal(number(torch, "sampler.first_distinct"), 10)


@claim(
    en="Of burn's first draws, as many as there are items, only {left} are distinct",
    zh="burn 最先抽出的、和样本数一样多的那几个里，只有 {left} 个不同",
)
def sampler_shuffles_all(torch: Side, burn: Side) -> Verdict:
    return less(number(burn, "sampler.first_distinct"), 10)


@claim(
    en="Of 100 pairs of reads at one index of burn's SamplerDataset, {right} gave two different items; of a PyTorch dataset none did ({left})",
    zh="从 burn 的 SamplerDataset 的同一个下标读两次，100 次里有 {right} 次读到两个不同的样本；PyTorch 的数据集 {left} 次",
)
def sampler_ignores_index(torch: Side, burn: Side) -> Verdict:
    reads = [number(s, "sampler.reread_differs") for s in (torch, burn)]
    return Verdict(reads[0], "<", reads[1], reads[0] == 0 < reads[1])


@claim(
    en="By default PyTorch's RandomSampler does not put items back ({left}), burn's SamplerDataset does ({right})",
    zh="默认情况下，PyTorch 的 RandomSampler 不放回（{left}），burn 的 SamplerDataset 放回（{right}）",
)
def sampler_defaults(torch: Side, burn: Side) -> Verdict:
    replaced = [flag(s, "sampler.replaces_by_default") for s in (torch, burn)]
    return Verdict(replaced[0], "≠", replaced[1], replaced == [False, True])


@claim(
    en="With the same seed the first epoch comes as {left} in PyTorch and as {right} in burn",
    zh="种子相同，第一个 epoch 的次序在 PyTorch 里是 {left}，在 burn 里是 {right}",
)
def orders_differ(torch: Side, burn: Side) -> Verdict:
    return different(
        torch["shuffle.first"].tolist(), burn["shuffle.first"].tolist()
    )


@claim(
    en="A random draw before the epoch leaves the order as it was: in PyTorch, shuffled by the global generator, {left}; in burn {right}",
    zh="先抽一次随机数，次序不变：PyTorch（用全局发生器打乱）{left}，burn {right}",
)
def draw_in_between(torch: Side, burn: Side) -> Verdict:
    same = [flag(s, "shuffle.same_despite_draw") for s in (torch, burn)]
    return Verdict(same[0], "≠", same[1], same == [False, True])


@claim(
    en="The same seed gives the same order with workers as without: in PyTorch with two {left}, in burn even with one {right}",
    zh="种子相同，有没有 worker 次序都一样：PyTorch（两个 worker）{left}，burn（哪怕只有一个）{right}",
)
def workers_and_seed(torch: Side, burn: Side) -> Verdict:
    same = [flag(s, "shuffle.same_with_workers") for s in (torch, burn)]
    return Verdict(same[0], "≠", same[1], same == [True, False])


@claim(
    en="A loader moved by to_device begins with the order of the original: without workers {left}, with one {right}",
    zh="to_device 得到的加载器，第一遍和原来那个次序相同：没有 worker 时 {left}，有一个 worker 时 {right}",
)
def moving_and_seed(torch: Side, burn: Side) -> Verdict:
    same = [
        flag(burn, f"shuffle.same_after_to_device{suffix}")
        for suffix in ("", "_with_worker")
    ]
    return Verdict(same[0], "≠", same[1], same == [False, True])


@claim(
    en="With two workers, {left} of {right} features are bit-identical in PyTorch and burn, once the batches are put in order",
    zh="两个 worker 时，把各批排好次序，PyTorch 和 burn 的 {right} 个特征有 {left} 个逐位相同",
)
def same_batches_with_workers(torch: Side, burn: Side) -> Verdict:
    return same_bits(features(torch, "workers"), features(burn, "workers"))


@claim(
    en="The first label to arrive when the first item is slow, without and with workers: {left} in PyTorch, {right} in burn",
    zh="第一个样本读得慢时，先到的标签（没有 worker，有 worker）：PyTorch 是 {left}，burn 是 {right}",
)
def arrival_order(torch: Side, burn: Side) -> Verdict:
    first = [s["arrival.first"].tolist() for s in (torch, burn)]
    return Verdict(first[0], "≠", first[1], first == [[0, 0], [0, 8]])


@claim(
    en="With in_order=False PyTorch, too, hands out what arrives first: the batch that begins with {left}, not the one with {right}",
    zh="设了 in_order=False，PyTorch 也是先到先得：先给的那一批以 {left} 开头，不是以 {right} 开头的那批",
)
def in_order_off(torch: Side, burn: Side) -> Verdict:
    return different(number(torch, "arrival.free"), 0)


def mixed(side: Side, what: str) -> list[int]:
    return [number(side, f"mixing.{n}.{what}") for n in (0, 2)]


@claim(
    en="Pairs of items that met in PyTorch, without and with workers: {left}; all pairs: {right}",
    zh="PyTorch 里碰过面的样本对，没有 worker 和有 worker 时：{left}；全部的对数：{right}",
)
def torch_mixes(torch: Side, burn: Side) -> Verdict:
    return equal(mixed(torch, "met"), [comb(8, 2)] * 2)


@claim(
    en="Pairs of items that met in burn, without and with two workers: {left}; all pairs, and all within two parts of four: {right}",
    zh="burn 里碰过面的样本对，没有 worker 和有两个时：{left}；全部的对数，和只在两份（各四个）内部的对数：{right}",
)
def burn_mixes(torch: Side, burn: Side) -> Verdict:
    return equal(mixed(burn, "met"), [comb(8, 2), 2 * comb(4, 2)])


@claim(
    en="Items that were in the short batch at least once, without and with two workers: {left} in PyTorch, {right} in burn",
    zh="至少有一次进了不满的那一批的样本数，没有 worker 和有两个时：PyTorch {left}，burn {right}",
)
def short_batch(torch: Side, burn: Side) -> Verdict:
    last = [mixed(side, "last") for side in (torch, burn)]
    return Verdict(last[0], "≠", last[1], last == [[10, 10], [10, 2]])


@claim(
    en="With a new loader for each epoch as in PyTorch: pairs that met, and items in the short batch, {left}",
    zh="每个 epoch 新建加载器，碰过面的对数、进过不满那一批的样本数都和 PyTorch 一样：{left}",
)
def new_loaders_mix(torch: Side, burn: Side) -> Verdict:
    wanted = [mixed(torch, what)[1] for what in ("met", "last")]
    return equal(burn["mixing.new"].tolist(), wanted)


@claim(
    en="With items dealt out by a SamplerDataset as in PyTorch: pairs that met, and items in the short batch, {left}",
    zh="由 SamplerDataset 发样本，碰过面的对数、进过不满那一批的样本数都和 PyTorch 一样：{left}",
)
def dealing_mixes(torch: Side, burn: Side) -> Verdict:
    wanted = [mixed(torch, what)[1] for what in ("met", "last")]
    return equal(burn["mixing.dealt"].tolist(), wanted)


@claim(
    en="An epoch dealt out to two workers has every item once: {left}",
    zh="发给两个 worker 的一个 epoch，每个样本正好一次：{left}",
)
def dealt_once(torch: Side, burn: Side) -> Verdict:
    return equal(burn["mixing.dealt.epoch"].tolist(), list(range(8)))


@claim(
    en="PyTorch goes on after an error; batches and errors without workers, and with two: {left}",
    zh="出错之后 PyTorch 接着往下读；没有 worker 时、有两个时的批数和错误数：{left}",
)
def torch_goes_on(torch: Side, burn: Side) -> Verdict:
    return equal([torch[f"errors.{n}"].tolist() for n in (0, 2)], [[2, 1]] * 2)


@claim(
    en="Asked up to a thousand times, burn's loader without workers gave these batches and errors: {left}",
    zh="最多问一千次，burn 没有 worker 的加载器给出的批数和错误数：{left}",
)
def burn_repeats(torch: Side, burn: Side) -> Verdict:
    return equal(burn["errors.0"].tolist(), [1, 999])


@claim(
    en="With two workers burn's pass ends by itself, with as many batches and errors as PyTorch's: {left}",
    zh="有两个 worker 时，burn 的这一遍会自己结束，批数和错误数与 PyTorch 相同：{left}",
)
def burn_ends_with_workers(torch: Side, burn: Side) -> Verdict:
    return equal(burn["errors.2"].tolist(), torch["errors.2"].tolist())


@claim(
    en="With one worker nothing comes after the error; good or not, what came: {left}",
    zh="只有一个 worker 时，错误之后什么都不来了；来过的各批是否正常：{left}",
)
def rest_is_lost(torch: Side, burn: Side) -> Verdict:
    return equal(burn["errors.one_worker"].tolist(), [True, False])


def seen(side: Side) -> list[int]:
    """How many items each epoch had given before it ended, or stopped."""
    text = "\n".join(side.run("broken-batcher").result.output.values())
    return [int(n) for n in re.findall(r"after (\d+) items", text)]


@figure
def lost_items(torch: Side, burn: Side) -> int:
    return number(burn, "batches.num_items") - seen(burn)[0]


@claim(
    en="When a batcher panics in a worker, the epoch ends as if complete after {left} of {right} items",
    zh="Batcher 在 worker 里 panic 时，这个 epoch 像正常一样结束，只给了 {right} 个样本中的 {left} 个",
)
def panic_ends_epoch(torch: Side, burn: Side) -> Verdict:
    (items,) = seen(burn)
    return less(items, number(burn, "batches.num_items"))


@claim(
    en="A burn PartialDataset that begins inside the data and ends behind them has length {left}, though only {right} items are there",
    zh="burn 的 PartialDataset 若从数据中间开始、到数据末尾之后结束，长度是 {left}，实际只有 {right} 个样本",
)
def partial_too_long(torch: Side, burn: Side) -> Verdict:
    return Verdict(
        number(burn, "partial.past_the_end"),
        ">",
        10 - 6,
        number(burn, "partial.past_the_end") > 10 - 6,
    )


@claim(
    en="Two new workers take burn less time than PyTorch: {left} s against {right} s",
    zh="新起两个 worker，burn 比 PyTorch 快：{left} 秒对 {right} 秒",
)
def threads_are_quicker(torch: Side, burn: Side) -> Verdict:
    return less(burn.run("cost")["new"][0], torch.run("cost")["new"][0])


@claim(
    en="With nothing to do for them, workers cost time on both sides; the smaller of the two factors is {right}",
    zh="没有活给 worker 干时，两边都是有 worker 更慢；两个倍数里小的一个是 {right}",
)
def workers_cost(torch: Side, burn: Side) -> Verdict:
    factors = [
        float(s.run("cost")["kept"][0] / s.run("cost")["none"][0])
        for s in (torch, burn)
    ]
    return less(1.0, min(factors))
