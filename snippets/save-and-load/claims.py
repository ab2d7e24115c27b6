"""What the page asserts of its runs."""

import numpy as np

from scripts.claims import (
    Agreement,
    Side,
    Verdict,
    claim,
    equal,
    figure,
    same_bits,
    table,
)

LOGITS = (
    "own.logits",
    "from_burn.logits",
    "nested.logits",
    "sequential.logits",
    "statistics.mean",
)
FILES = (
    "checkpoint.pt",
    "double.pt",
    "double.safetensors",
    "model.pt",
    "model.safetensors",
    "sequential.pt",
    "sequential.safetensors",
    "square.safetensors",
)

logits = Agreement(
    within=1e-6,
    because={
        "en": "float32 numbers below 1 lie at most 6e-8 apart: room for sixteen of those, while one transposed or exchanged tensor shows in the first digits",
        "zh": "小于 1 的 float32 数相距不超过 6e-8：容得下十六个这样的间距；有一个张量转置错了、放错了，头几位数字就会不同",
    },
    values=LOGITS,
)

same_files = Agreement(
    within=0.0,
    because={
        "en": "the values come from one formula, and files are bytes: nothing is rounded on the way",
        "zh": "数值出自同一个公式，文件就是字节，途中没有舍入",
    },
    values=(
        "x",
        "tensor.*",
        "safetensors.*",
        "from_burn.data",
        "file.*",
        "half.weight",
        "dtype.weight",
    ),
)

square = Agreement(
    within=0.0,
    because={
        "en": "sums and products of small integers are exact",
        "zh": "小整数的和与积没有舍入",
    },
    run="square",
)


@claim(
    en="PyTorch: {left} of {right} logits of the network loaded from its .pt have the bits of the saved one",
    zh="PyTorch：从 .pt 读回的网络，{right} 个 logits 中 {left} 个和存之前逐位相同",
)
def torch_round_trip(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["own.logits"], torch["own.again"])


@claim(
    en="burn: every tensor loaded from the .bpk has the bits of the saved one",
    zh="burn：从 .bpk 读回的张量，每一个都和存之前逐位相同",
)
def burn_round_trip(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["own.same_tensors"].item()), True)


@figure
def logits_of_a_view(torch: Side, burn: Side) -> int:
    """How many logits have the same bits, weights as a transposed view against weights as loaded."""
    return int((burn["own.logits"] == burn["own.again"]).sum())


@claim(
    en="With the weights laid out in a row, {left} of {right} logits of the saved network have the bits of the loaded one's",
    zh="权重连续存放时，存之前的网络，{right} 个 logits 中 {left} 个和读回来的逐位相同",
)
def only_the_layout(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["own.contiguous"], burn["own.again"])


@claim(
    en="{left} of {right} logits that burn computes from PyTorch's .pt have the bits of those from its own .bpk",
    zh="burn 用 PyTorch 的 .pt 算出的 {right} 个 logits 中，{left} 个和用自己的 .bpk 算出的逐位相同",
)
def pt_is_bpk(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["own.again"], burn["from_pytorch.pt"])


@claim(
    en="{left} of {right} logits that burn computes from PyTorch's .safetensors have the bits of those from its .pt",
    zh="burn 用 PyTorch 的 .safetensors 算出的 {right} 个 logits 中，{left} 个和用 .pt 算出的逐位相同",
)
def safetensors_is_pt(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["from_pytorch.safetensors"], burn["from_pytorch.pt"])


@claim(
    en="The files that burn read and those that PyTorch wrote anew in this run have the same hash: {left} of {right}",
    zh="burn 读的文件和 PyTorch 这次运行新写的文件，{right} 个中 {left} 个的散列值相同",
)
def remade(torch: Side, burn: Side) -> Verdict:
    names = [f"file.{name}" for name in FILES]
    alike = sum(
        int(torch[name].item()) == int(burn[name].item()) for name in names
    )
    return equal(alike, len(names))


def padded(n: int, to: int) -> int:
    return -(-n // to) * to


@claim(
    en="burnpack: header, metadata, padding and tensors, each tensor from a multiple of 256 on, come to {right} bytes; the file has {left}",
    zh="burnpack：文件头、元数据、填充，加上各自从 256 的倍数开始的张量，共 {right} 字节；文件有 {left} 字节",
)
def bpk_layout(torch: Side, burn: Side) -> Verdict:
    place = padded(10 + int(burn["bpk.metadata"].item()), 256)
    starts = []
    for length in burn["bpk.lengths"].tolist():
        starts.append(padded(place, 256))
        place = starts[-1] + length
    if starts != burn["bpk.starts"].tolist():
        return equal(str(burn["bpk.starts"].tolist()), str(starts))
    return equal(int(burn["bpk.size"].item()), place)


@claim(
    en="safetensors: 8 bytes for the length, a header whose length is a multiple of 8, and the tensors without a gap come to {right} bytes; the files have {left}",
    zh="safetensors：8 字节长度，长度是 8 的倍数的文件头，再加没有空隙的张量，共 {right} 字节；两个文件有 {left} 字节",
)
def safetensors_layout(torch: Side, burn: Side) -> Verdict:
    floats = int(burn["safetensors.float_bytes"].item())
    sizes = [int(side["safetensors.size"].item()) for side in (torch, burn)]
    headers = [int(side["safetensors.header"].item()) for side in (torch, burn)]
    made = [8 + padded(header, 8) + floats for header in headers]
    made[0] += 8  # num_batches_tracked, an int64
    return equal(str(sizes), str(made))


@claim(
    en="In the .pt, {left} of {right} tensors begin at a multiple of 64",
    zh=".pt 里，{right} 个张量中 {left} 个从 64 的倍数开始",
)
def pt_aligned(torch: Side, burn: Side) -> Verdict:
    starts = torch["pt.starts"]
    return equal(int((starts % 64 == 0).sum()), starts.size)


@claim(
    en="The float32 parts of the .safetensors of both have the same hash",
    zh="两边的 .safetensors，float32 那一段的散列值相同",
)
def same_float_bytes(torch: Side, burn: Side) -> Verdict:
    return equal(
        int(torch["safetensors.floats"].item()),
        int(burn["safetensors.floats"].item()),
    )


@claim(
    en="Saved over and over by burn, the same network gives different .safetensors ({left}), and always the same .bpk",
    zh="burn 把同一个网络反复存成 .safetensors，文件会不同（{left}）；存成 .bpk 则总是相同",
)
def header_varies(torch: Side, burn: Side) -> Verdict:
    varies = [
        bool(burn[f"{kind}.varies"].item()) for kind in ("safetensors", "bpk")
    ]
    return equal(str(varies), str([True, False]))


@claim(
    en="Loading a .pt leaves the ids of the parameters as they were",
    zh="读 .pt 之后，参数的 id 不变",
)
def pt_keeps_ids(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["from_pytorch.keeps_id"].item()), True)


@claim(
    en="num_batches_tracked, 7 in PyTorch's network, is {left} in the one loaded from burn's file",
    zh="PyTorch 的网络里 num_batches_tracked 是 7，从 burn 的文件读进来的网络里是 {left}",
)
def tracked_starts_over(torch: Side, burn: Side) -> Verdict:
    return equal(int(torch["from_burn.tracked"].item()), 0)


@claim(
    en="Without the top-level key, burn refuses the checkpoint; with allow_partial it loads {left} tensors",
    zh="不给顶层的键，burn 拒绝这个检查点；加上 allow_partial，读进 {left} 个张量",
)
def rootless(torch: Side, burn: Side) -> Verdict:
    loaded = int(burn["rootless.applied"].item())
    return equal(loaded if burn["rootless.refused"].item() else "any", 0)


LOADERS = {
    "`load_state_dict`": ("torch", "True"),
    "`load_state_dict`, `strict=False`": ("torch", "False"),
    "`load_file`": ("burn", "load_file"),
    "`load_from`": ("burn", "store"),
    "`load_from`, `allow_partial(true)`": ("burn", "partial"),
    "`load_from`, `validate(false)`": ("burn", "unchecked"),
}
CASES = ("missing", "unexpected", "shape")


def accepts(torch: Side, burn: Side, loader: str) -> list[bool]:
    side, option = LOADERS[loader]
    run = {"torch": torch, "burn": burn}[side]
    return [bool(run[f"strict.{case}.{option}"].item()) for case in CASES]


@table(
    en="loader | missing | unexpected | other shape",
    zh="怎么读 | 缺少 | 多余 | 形状不同",
)
def strictness(torch: Side, burn: Side) -> list[list[str]]:
    """Which loader lets what pass."""
    return [
        [loader, *("✓" if ok else "✗" for ok in accepts(torch, burn, loader))]
        for loader in LOADERS
    ]


@claim(
    en="load_state_dict and load_file refuse a missing tensor, one too many and another shape: {left} of {right} times",
    zh="缺少、多余、形状不同，load_state_dict 和 load_file 都拒绝：{right} 次里 {left} 次",
)
def both_strict(torch: Side, burn: Side) -> Verdict:
    refused = [
        not ok
        for loader in ("`load_state_dict`", "`load_file`")
        for ok in accepts(torch, burn, loader)
    ]
    return equal(sum(refused), len(refused))


@claim(
    en="load_from refuses a missing tensor and another shape, and accepts one too many: {left}",
    zh="load_from 拒绝缺少和形状不同，接受多余：{left}",
)
def store_accepts_unused(torch: Side, burn: Side) -> Verdict:
    return equal(
        str(accepts(torch, burn, "`load_from`")), str([False, True, False])
    )


@claim(
    en="With validate(false), a tensor of another shape is left out, its error is in the result, and the weight stays as it was: {left}",
    zh="validate(false) 时，形状不同的张量被略过，错误写在结果里，权重保持原样：{left}",
)
def unchecked_leaves_out(torch: Side, burn: Side) -> Verdict:
    passed = accepts(torch, burn, "`load_from`, `validate(false)`")[2]
    kept = bool(burn["unchecked.kept"].item())
    errors = int(burn["unchecked.errors"].item())
    return equal(str([passed, kept, errors]), str([True, True, 2]))


@claim(
    en="After the refusal, all {right} weights of both networks are those of the file: {left}",
    zh="拒绝之后，两边网络的 {right} 个权重都已经是文件里的：{left}",
)
def half_loaded(torch: Side, burn: Side) -> Verdict:
    weights = [torch["half.weight"], burn["half.weight"]]
    return equal(
        int(sum((w == 5.0).sum() for w in weights)),
        sum(w.size for w in weights),
    )


@claim(
    en="Loading into burn's clone replaces the original's running mean by the file's ({left} of {right} numbers) and leaves its weights alone",
    zh="往 burn 的 clone 里读，原来那个网络的 running mean 也换成了文件里的（{right} 个数中 {left} 个），权重没有动",
)
def clone_shares(torch: Side, burn: Side) -> Verdict:
    if burn["copies.mean_kept"].item() or not burn["copies.weight_kept"].item():
        return equal("another outcome", "the mean replaced, the weights kept")
    return same_bits(burn["copies.mean"], burn["copies.copied_mean"])


@claim(
    en="PyTorch's deepcopy keeps the original's running mean",
    zh="PyTorch 的 deepcopy 不影响原来的 running mean",
)
def deepcopy_keeps(torch: Side, burn: Side) -> Verdict:
    return equal(bool(torch["copies.mean_kept"].item()), True)


@claim(
    en="Loading into a fresh network leaves every other one alone",
    zh="读进一个新建的网络，不影响别的网络",
)
def fresh_keeps(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["copies.fresh_keeps"].item()), True)


@claim(
    en="A forward pass of a clone in training changes the original's running mean too",
    zh="clone 在训练中前向一次，原来那个网络的 running mean 也变了",
)
def training_reaches(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["copies.training_reaches"].item()), True)


@claim(
    en="A file that burn writes right after a training step has {left} of {right} numbers of the running mean from before it",
    zh="burn 训练一步后立刻存的文件里，running mean 的 {right} 个数中 {left} 个还是这一步之前的",
)
def saved_too_early(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["statistics.early"], burn["statistics.before"])


@claim(
    en="PyTorch's file has {left} of 8 numbers of the running mean from before the training step",
    zh="PyTorch 的文件里，running mean 的 8 个数中 {left} 个还是训练这一步之前的",
)
def torch_saves_the_update(torch: Side, burn: Side) -> Verdict:
    early, before = torch["statistics.early"], burn["statistics.before"]
    return equal(int((early == before).sum()), 0)


@claim(
    en="After a load, valid() still takes in the update that was pending before it: {left} of 8 numbers of the running mean are the file's",
    zh="读取之后，valid() 仍然并入读取之前没并入的更新：running mean 的 8 个数中 {left} 个是文件里的",
)
def pending_wins(torch: Side, burn: Side) -> Verdict:
    file, pending = burn["statistics.file"], burn["statistics.pending"]
    return equal(int((file == pending).sum()), 0)


@claim(
    en="Cast by the adapter or through a record, {left} of {right} weights have the bits that PyTorch's load_state_dict gives",
    zh="不论用适配器还是经过记录转换，{right} 个权重中 {left} 个和 PyTorch 的 load_state_dict 逐位相同",
)
def both_casts(torch: Side, burn: Side) -> Verdict:
    both = [burn["dtype.weight"], burn["dtype.record"]]
    return same_bits(np.stack(both), np.stack([torch["dtype.weight"]] * 2))


@claim(
    en="The square layer answers with {left} after either crossing, where the saved one answers with [1.0, 3.0]",
    zh="方阵层不论往哪边搬，结果都成了 {left}，存之前是 [1.0, 3.0]",
)
def transposed_in_silence(torch: Side, burn: Side) -> Verdict:
    runs = [side.run("square") for side in (torch, burn)]
    saved = [run["square.saved"].tolist() for run in runs]
    if saved != [[1.0, 3.0]] * 2:
        return equal(str(saved), "[1.0, 3.0] on both sides")
    loaded = [run["square.loaded"].tolist() for run in runs]
    if loaded[0] != loaded[1]:
        return equal(str(loaded[0]), str(loaded[1]))
    return equal(str(loaded[0]), "[1.0, 2.0]")


@figure
def bpk_padding(torch: Side, burn: Side) -> int:
    """The bytes of a .bpk that are neither header, metadata nor tensors."""
    used = 10 + burn["bpk.metadata"].item() + burn["bpk.lengths"].sum()
    return int(burn["bpk.size"].item() - used)


@figure
def pt_step(torch: Side, burn: Side) -> int:
    """The greatest common divisor of the places where a .pt's tensors begin."""
    return int(np.gcd.reduce(torch["pt.starts"]))


@figure
def bpk_step(torch: Side, burn: Side) -> int:
    """The greatest common divisor of the places where a .bpk's tensors begin."""
    return int(np.gcd.reduce(burn["bpk.starts"]))


@claim(
    en="Over a file that exists, a store without overwrite(true) does not write, and save_file does",
    zh="文件已经存在时，没有 overwrite(true) 的 store 不写，save_file 照写",
)
def store_does_not_replace(torch: Side, burn: Side) -> Verdict:
    names = ("replace.store_refuses", "replace.save_file_writes")
    return equal(
        str([bool(burn[name].item()) for name in names]), "[True, True]"
    )


@claim(
    en="PytorchStore refuses to save",
    zh="PytorchStore 不肯存",
)
def no_pt_from_burn(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["replace.pt_refuses"].item()), True)


@table(
    en="file | bytes | tensors | description | padding",
    zh="文件 | 字节 | 张量 | 说明 | 填充",
)
def sizes(torch: Side, burn: Side) -> list[list[str]]:
    """What the bytes of each file are for."""
    n = {
        side: {key: int(run[key].item()) for key in keys}
        for side, run, keys in [
            (
                "torch",
                torch,
                (
                    "pt.size",
                    "pt.tensors",
                    "safetensors.size",
                    "safetensors.header",
                ),
            ),
            (
                "burn",
                burn,
                (
                    "bpk.size",
                    "bpk.metadata",
                    "safetensors.size",
                    "safetensors.header",
                ),
            ),
        ]
    }
    t, b = n["torch"], n["burn"]
    floats = int(burn["bpk.lengths"].sum())
    rows = [
        ("PyTorch, `model.pt`", t["pt.size"], t["pt.tensors"], None, None),
        (
            "PyTorch, `model.safetensors`",
            t["safetensors.size"],
            floats + 8,
            8 + t["safetensors.header"],
            0,
        ),
        (
            "burn, `model.safetensors`",
            b["safetensors.size"],
            floats,
            8 + b["safetensors.header"],
            0,
        ),
        (
            "burn, `model.bpk`",
            b["bpk.size"],
            floats,
            10 + b["bpk.metadata"],
            bpk_padding(torch, burn),
        ),
    ]
    rest = rows[0][1] - rows[0][2]
    return [
        [
            name,
            str(size),
            str(tensors),
            str(rest if head is None else head),
            "–" if pad is None else str(pad),
        ]
        for name, size, tensors, head, pad in rows
    ]
