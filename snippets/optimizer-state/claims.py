"""What the page asserts of its runs."""

import json

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

FEW_STEPS = {
    "en": "burn's Adam is off by some 4e-6 of the learning rate at each step: four steps at 0.1 make 1.6e-6, and roundings are smaller",
    "zh": "burn 的 Adam 每步偏差约为学习率的 4e-6：学习率 0.1 走四步是 1.6e-6，舍入比这还小",
}
SAME_AS_SGD = {
    "en": "the tolerance that SGD meets in float64",
    "zh": "SGD 在 float64 里满足的那个容差",
}

kept = Agreement(
    within=0,
    values=("kept.*",),
    because={
        "en": "these are counts",
        "zh": "这些是个数",
    },
)

walked = Agreement(
    within=2e-6,
    values=("straight.momentum", "resumed.momentum"),
    because={
        "en": "float32 numbers between 2 and 4 lie 2.4e-7 apart: room for eight of those",
        "zh": "2 到 4 之间相邻的 float32 数相距 2.4e-7：容得下八个这样的间距",
    },
)

adam_walked = Agreement(
    within=5e-5,
    values=(
        "straight.adam",
        "resumed.adam",
        "straight.adamw",
        "resumed.adamw",
    ),
    because={
        "en": "burn's Adam is off by some 4e-6 of the learning rate at each step: a hundred steps at 0.1 make 4e-5",
        "zh": "burn 的 Adam 每步偏差约为学习率的 4e-6：学习率 0.1 走一百步是 4e-5",
    },
)

copies = Agreement(within=5e-6, values=("copies.*",), because=FEW_STEPS)

resettled = Agreement(
    within=5e-6,
    values=("resettled",),
    agrees=False,
    because=FEW_STEPS,
)

resettled_again = Agreement(
    within=5e-6,
    values=("resettled.again",),
    because=FEW_STEPS,
)

left_alone = Agreement(
    within=1e-6,
    values=("default.*",),
    agrees=False,
    because={
        "en": "the same tolerance as with PyTorch's settings",
        "zh": "和用 PyTorch 的设置时同样的容差",
    },
)

said = Agreement(
    within=1e-6,
    values=("set.*",),
    because={
        "en": "float32 numbers between 4 and 8 lie 4.8e-7 apart: room for two of those; another setting shows ten times that at least",
        "zh": "4 到 8 之间相邻的 float32 数相距 4.8e-7：容得下两个这样的间距；设置若有不同，至少差十倍",
    },
)

adafactor = Agreement(
    within=1e-6,
    values=("same.*",),
    because={
        "en": "float32 numbers between 1 and 2 lie 1.2e-7 apart: room for eight of those",
        "zh": "1 到 2 之间相邻的 float32 数相距 1.2e-7：容得下八个这样的间距",
    },
)

muon = Agreement(
    within=0.1,
    values=("muon.*.same-shape", "muon.match_rms.linear"),
    because={
        "en": "PyTorch computes the direction in bfloat16, which keeps eight bits, 0.4%, in each of some twenty products of matrices; the numbers here are below 1.5",
        "zh": "PyTorch 用 bfloat16 算方向，二十来次矩阵乘法每次只留八位，即 0.4%；这里的数都小于 1.5",
    },
)

muon_linear = Agreement(
    within=0.1,
    values=("muon.original.linear",),
    agrees=False,
    because={
        "en": "the same tolerance as for equal shapes",
        "zh": "和形状相同时同样的容差",
    },
)

drift = Agreement(
    within=1e-5,
    values=("drift.*", "three"),
    because={
        "en": "a hundred steps at 0.01, each off by some 4e-6 of it, make 4e-6; twice that for roundings",
        "zh": "学习率 0.01 走一百步，每步偏差约为其 4e-6，共 4e-6；再留一倍给舍入",
    },
)

drift_f64 = Agreement(
    within=1e-13,
    values=("drift.sgd", "drift.momentum-as-burn"),
    run="f64",
    because={
        "en": "float64 numbers near 8 lie 2e-15 apart: room for fifty of those in a hundred steps",
        "zh": "8 附近的 float64 数相距 2e-15：一百步里容得下五十个这样的间距",
    },
)

drift_apart = Agreement(
    within=1e-13,
    values=("drift.momentum", "drift.adam", "drift.adamw", "three"),
    run="f64",
    agrees=False,
    because=SAME_AS_SGD,
)

reordered = Agreement(
    within=5e-6,
    run="reordered",
    agrees=False,
    because=FEW_STEPS,
)


@claim(
    en="PyTorch: {left} of {right} numbers after the resumption are bit-identical to those without interruption, for momentum, Adam and AdamW",
    zh="PyTorch：momentum、Adam、AdamW 续训之后的 {right} 个数里，{left} 个和不中断时逐位相同",
)
def resumed_torch(torch: Side, burn: Side) -> Verdict:
    return resumed(torch)


@claim(
    en="burn: {left} of {right} numbers after the resumption are bit-identical to those without interruption, for momentum, Adam and AdamW",
    zh="burn：momentum、Adam、AdamW 续训之后的 {right} 个数里，{left} 个和不中断时逐位相同",
)
def resumed_burn(torch: Side, burn: Side) -> Verdict:
    return resumed(burn)


def resumed(side: Side) -> Verdict:
    """Both knobs in the second half of the steps."""
    rows = [
        np.concatenate(
            [
                side[f"{kind}.{name}"][50:]
                for name in ("momentum", "adam", "adamw")
            ]
        )
        for kind in ("resumed", "straight")
    ]
    return same_bits(*rows)


@claim(
    en="burn goes on as if nothing had happened, bit for bit, with a clone, with a model loaded from a record, and with ids carried over by hand: {left} of {right} numbers",
    zh="克隆、从记录载入、手工带上 id，burn 都照旧走下去，逐位相同：{right} 个数里的 {left} 个",
)
def ids_carry_on(torch: Side, burn: Side) -> Verdict:
    ways = ("clone", "record", "rebuilt_with_ids")
    found = np.array([burn[f"copied.{way}"] for way in ways])
    return same_bits(found, np.array([burn["copied.itself"]] * len(ways)))


@claim(
    en="burn's model with new ids and the one from a safetensors file take the same fourth step, bit for bit: {left} of {right} numbers",
    zh="burn 里 id 全新的模型和从 safetensors 载入的模型，第四步逐位相同：{right} 个数里的 {left} 个",
)
def safetensors_restart(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["copied.safetensors"], burn["copied.rebuilt"])


@claim(
    en="With new ids, burn's fourth step leads elsewhere: the gain is {left} instead of {right}",
    zh="id 换了，burn 的第四步就走到别处：gain 是 {left}，不是 {right}",
)
def restart_shows(torch: Side, burn: Side) -> Verdict:
    return different(
        float(burn["copied.rebuilt"][0]), float(burn["copied.itself"][0])
    )


@claim(
    en="After the step with new ids, burn's optimizer holds {left} tensors, which is twice {right}",
    zh="用新 id 走一步之后，burn 的优化器里有 {left} 个张量，是 {right} 的两倍",
)
def leftovers(torch: Side, burn: Side) -> Verdict:
    there = int(burn["copied.rebuilt.tensors"][0])
    usual = int(burn["copied.itself.tensors"][0])
    return Verdict(there, "= 2 ×", usual, there == 2 * usual)


@claim(
    en="In PyTorch the copied model does not move when the old optimizer steps: {left} of {right} numbers are as before, bit for bit",
    zh="在 PyTorch 里，旧优化器走一步，复制出来的模型不动：{right} 个数里有 {left} 个和之前逐位相同",
)
def copy_stands_still(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["copied.same_optimizer"], torch["copied.before"])


@claim(
    en="After load_state_dict, PyTorch goes on with the saved betas, bit for bit: {left} of {right} numbers",
    zh="load_state_dict 之后，PyTorch 用存下的 betas 走下去，逐位相同：{right} 个数里的 {left} 个",
)
def settings_come_back(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["resettled"], torch["copies.straight"])


@claim(
    en="After from_bytes, burn goes on with the new beta: the gain is {left} instead of {right}",
    zh="from_bytes 之后，burn 用新的 beta：gain 是 {left}，不是 {right}",
)
def settings_stay(torch: Side, burn: Side) -> Verdict:
    return different(
        float(burn["resettled"][0]), float(burn["copies.straight"][0])
    )


@claim(
    en="A restarted Adam moves the gain by {left} in its first step, which is the learning rate to within {right}",
    zh="重新开始的 Adam，第一步让 gain 移动 {left}，和学习率相差不超过 {right}",
)
def full_step(torch: Side, burn: Side) -> Verdict:
    after, before = (
        float(torch[f"copied.{way}"][0])
        for way in ("new_optimizer", "same_optimizer")
    )
    moved = abs(after - before)
    return Verdict(moved, "= 0.1 within", 1e-6, abs(moved - 0.1) <= 1e-6)


@claim(
    en="Going on, Adam moves the gain by {left} instead, which is less than the {right} of the restarted one",
    zh="接着走的 Adam 让 gain 移动 {left}，小于重新开始时的 {right}",
)
def shorter_step(torch: Side, burn: Side) -> Verdict:
    steps = [
        abs(float(torch[f"copied.{way}"][0] - torch["copied.before"][0]))
        for way in ("itself", "new_optimizer")
    ]
    return less(*steps)


# PyTorch's settings and, behind "=", burn's name for the same where it is another.
SETTINGS = {
    "SGD": "momentum weight_decay",
    "SGD + momentum": "dampening nesterov",
    "Adam": "betas.0=beta_1 betas.1=beta_2 eps=epsilon weight_decay amsgrad",
    "AdamW": "betas.0=beta_1 betas.1=beta_2 eps=epsilon weight_decay amsgrad",
    "Adagrad": "lr_decay eps=epsilon weight_decay",
    "RMSprop": "alpha eps=epsilon momentum centered weight_decay",
    "Muon": """
        momentum=momentum.momentum nesterov=momentum.nesterov
        ns_coefficients.0 ns_coefficients.1 ns_coefficients.2
        ns_steps eps=epsilon adjust_lr_fn weight_decay
    """,
    "Adafactor": """
        beta2_decay=decay_rate eps.0=epsilon_1 eps.1=epsilon_2
        d=clip_threshold weight_decay
    """,
    "LBFGS": """
        max_iter max_eval tolerance_grad tolerance_change history_size
        line_search_fn
    """,
}
# The two names that are not the optimizer's own: momentum is a part of SGD.
PRINTED_AS = {"SGD + momentum": ("SGD", "Momentum")}
# What only one side has for every optimizer, and PyTorch's choices of a kernel: the page says so once.
EVERYWHERE = {
    *("lr", "maximize", "foreach", "fused", "capturable", "differentiable"),
    *("grad_clipping", "gradient_clipping"),
}


def flat(value: object, name: str = "") -> dict[str, object]:
    """Nested settings by dotted names, such as betas.0."""
    items = {dict: lambda: value.items(), list: lambda: enumerate(value)}
    if type(value) not in items:
        return {name: value}
    found = {}
    for key, inner in items[type(value)]():
        found |= flat(inner, f"{name}.{key}".lstrip("."))
    return found


def printed(side: Side) -> dict[str, dict[str, object]]:
    """The settings that a program printed, by optimizer and dotted name."""
    lines = side.run("defaults").result.output["defaults"].splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return {name: flat(json.loads(text)) for name, text in pairs}


def said_as(value: object, name: str = "") -> str:
    """A setting as the table shows it: what is switched off is 0 or off in both."""
    match value:
        case None if "weight_decay" in name or name == "momentum":
            return "0"
        case None if name == "adjust_lr_fn":
            return "original"
        case False:
            return "off"
        case True:
            return "on"
        case str():
            return value.lower()
        case None:
            return "none"
    return f"{value:.6g}"


def settings(
    torch: Side, burn: Side
) -> dict[str, tuple[dict, dict, dict, list[str]]]:
    """For each optimizer: what is equal, PyTorch's and burn's side of what differs, and what only one side has."""
    left, right, rows = printed(torch), printed(burn), {}
    for name, pairs in SETTINGS.items():
        on_torch, on_burn = PRINTED_AS.get(name, (name, name))
        a, b = dict(left[on_torch]), dict(right[on_burn])
        same, theirs, ours = {}, {}, {}
        for pair in pairs.split():
            key, _, other = pair.partition("=")
            other = other or key
            x, y = said_as(a.pop(key), key), said_as(b.pop(other), key)
            if x == y:
                same[key] = x
            else:
                theirs[key], ours[other] = x, y
        alone = {k: said_as(v, k) for k, v in {**a, **b}.items()}
        rows[name] = (same, theirs, ours, alone)
    return rows


@table(
    en="optimizer | setting | PyTorch | burn",
    zh="优化器 | 设置 | PyTorch | burn",
)
def differing_settings(torch: Side, burn: Side) -> list[list[str]]:
    return [
        [name, other, x, y]
        for name, (_, theirs, ours, _) in settings(torch, burn).items()
        for x, (other, y) in zip(theirs.values(), ours.items())
    ]


@table(
    en="optimizer | the same on both sides | on one side only",
    zh="优化器 | 两边相同 | 只有一边有",
)
def equal_settings(torch: Side, burn: Side) -> list[list[str]]:
    def cell(found: dict[str, str]) -> str:
        return "<br>".join(f"{key} {value}" for key, value in found.items())

    rows = []
    for name, (same, theirs, _, alone) in settings(torch, burn).items():
        hidden = set(EVERYWHERE)
        if name == "SGD":  # the next row has them
            hidden |= {"dampening", "nesterov"}
        if name == "SGD + momentum":  # the row before has it
            hidden |= {"weight_decay"}
        short = {}
        for key, value in same.items():  # betas.0 and betas.1 become betas
            stem = key.partition(".")[0]
            if any(other.startswith(f"{stem}.") for other in theirs):
                stem = key
            short[stem] = f"{short[stem]} {value}" if stem in short else value
        left = {k: v for k, v in alone.items() if k not in hidden}
        rows.append([name, cell(short), cell(left)])
    return rows


@claim(
    en="The default settings that differ are these: {left}",
    zh="默认设置不同的是：{left}",
)
def what_differs(torch: Side, burn: Side) -> Verdict:
    found = settings(torch, burn)
    differ = {name: " ".join(row[1]) for name, row in found.items() if row[1]}
    return equal(
        "; ".join(f"{name}: {keys}" for name, keys in differ.items()),
        "SGD + momentum: dampening; Adam: eps; AdamW: eps weight_decay; "
        "Adagrad: eps; RMSprop: eps momentum; Muon: weight_decay; "
        "Adafactor: eps.0",
    )


CASES = {  # the step and the number of it that the table shows
    "momentum": (-1, 0),
    "adam": (0, 0),
    "adam-l2": (0, 0),
    "adamw": (0, 0),
    "adagrad": (0, 0),
    "rmsprop": (-1, 1),
}


@table(
    en="case | PyTorch | burn as it comes | burn, set",
    zh="情形 | PyTorch | burn 的默认 | burn 设好之后",
)
def cases(torch: Side, burn: Side) -> list[list[str]]:
    return [
        [
            name,
            *(
                f"{side[f'{kind}.{name}'][step, place]:.6g}"
                for side, kind in (
                    (torch, "set"),
                    (burn, "default"),
                    (burn, "set"),
                )
            ),
        ]
        for name, (step, place) in CASES.items()
    ]


def gap(torch: Side, burn: Side, name: str) -> float:
    """The largest |difference| of a value."""
    a, b = (side[name].astype(np.float64) for side in (torch, burn))
    return float(np.abs(a - b).max())


@claim(
    en="Left to its defaults, burn differs from PyTorch by more than the tolerance in {left} of {right} cases",
    zh="不设默认值时，{right} 种情形里有 {left} 种超出容差",
)
def every_default_differs(torch: Side, burn: Side) -> Verdict:
    apart = [gap(torch, burn, f"default.{name}") > 1e-6 for name in CASES]
    return equal(sum(apart), len(CASES))


@figure
def decay_times(torch: Side, burn: Side) -> int:
    """How many times larger PyTorch's default weight decay for AdamW is."""
    left, right = (printed(side)["AdamW"] for side in (torch, burn))
    return round(left["weight_decay"] / right["weight_decay"])


@figure
def small_step(torch: Side, burn: Side) -> float:
    """How many times further PyTorch's Adam moves a weight with a small gradient."""
    return float(torch["default.adam"][0, 0] / burn["default.adam"][0, 0])


@figure
def rmsprop_times(torch: Side, burn: Side) -> float:
    """How many times further burn's RMSprop has moved the steady weight after three steps."""
    return float(
        burn["default.rmsprop"][-1, 1] / torch["default.rmsprop"][-1, 1]
    )


def length(weight: np.ndarray) -> float:
    return float(np.linalg.norm(weight.astype(np.float64)))


@claim(
    en="burn's Muon moves a matrix of PyTorch's shape {left} times as far as the same matrix in the shape of burn's Linear: the root of {right}",
    zh="同一个矩阵，按 PyTorch 的形状，burn 的 Muon 走的距离是按 burn 的 Linear 形状时的 {left} 倍，即 {right} 的平方根",
)
def muon_ratio(torch: Side, burn: Side) -> Verdict:
    ratio = length(burn["muon.original.same-shape"]) / length(
        burn["muon.original.linear"]
    )
    return Verdict(ratio, "= √", 8 / 2, abs(ratio - 2) < 1e-4)


@claim(
    en="With MatchRmsAdamW the shape does not matter to burn: the two steps are {left} apart, within {right}",
    zh="用 MatchRmsAdamW，形状对 burn 没有影响：两种走法相差 {left}，不超过 {right}",
)
def match_rms_either_way(torch: Side, burn: Side) -> Verdict:
    return at_most(
        float(
            np.abs(
                burn["muon.match_rms.same-shape"]
                - burn["muon.match_rms.linear"]
            ).max()
        ),
        1e-5,
    )


WALKS = ("momentum", "momentum-as-burn", "adam", "adamw")


def distances(torch: Side, burn: Side, name: str) -> np.ndarray:
    """How far the two float64 runs are apart after each step."""
    a, b = (side.run("f64")[f"drift.{name}"] for side in (torch, burn))
    return np.abs(a - b).max(axis=1)


@table(
    en="step | momentum | the same, PyTorch with burn's constant | Adam | AdamW",
    zh="步 | momentum | 同左，PyTorch 用 burn 的常数 | Adam | AdamW",
)
def drifts(torch: Side, burn: Side) -> list[list[str]]:
    columns = [distances(torch, burn, name) for name in WALKS]
    return [
        [str(step), *(f"{c[step - 1]:.2e}" for c in columns)]
        for step in (1, 2, 5, 10, 20, 50, 100)
    ]


@claim(
    en="In float64 plain SGD is the same in both, bit for bit: {left} of {right} numbers",
    zh="float64 里，不带动量的 SGD 两边逐位相同：{right} 个数里的 {left} 个",
)
def sgd_same_bits(torch: Side, burn: Side) -> Verdict:
    return same_bits(
        torch.run("f64")["drift.sgd"], burn.run("f64")["drift.sgd"]
    )


@claim(
    en="Adam's and AdamW's distances after a hundred steps are more than ten times those after two; {left} of {right}",
    zh="一百步之后，Adam 和 AdamW 的差距都是两步之后的十倍以上；{right} 个里的 {left} 个",
)
def adam_drifts(torch: Side, burn: Side) -> Verdict:
    found = [distances(torch, burn, name) for name in ("adam", "adamw")]
    return equal(sum(d[99] > 10 * d[1] for d in found), len(found))


@claim(
    en="0.9 as an f32 is off by {left}, and momentum's distance after a hundred steps is that times what the formula makes of it: {right}",
    zh="f32 的 0.9 差了 {left}；一百步之后 momentum 的差距，就是公式把它放大的结果：{right}",
)
def momentum_foretold(torch: Side, burn: Side) -> Verdict:
    off = 0.9 - float(np.float32(0.9))
    measured = float(distances(torch, burn, "momentum")[99])
    return Verdict(off, "explains", measured, _foretold(off, measured))


def _foretold(off: float, measured: float) -> bool:
    """Whether a walk with a steady gradient of 1 and the shifted momentum ends that far off."""
    ends = []
    for momentum in (0.9, 0.9 - off):
        velocity = place = 0.0
        for _ in range(100):
            velocity = momentum * velocity + 1.0
            place -= 0.01 * velocity
        ends.append(place)
    return abs(abs(ends[0] - ends[1]) / measured - 1) < 1e-6


@figure
def three_first(torch: Side, burn: Side) -> float:
    """How far Adam's first step in float64 is apart, with gradients of 0.1, 0.2, 0.3."""
    a, b = (side.run("f64")["three"][:, 0] for side in (torch, burn))
    return float(abs(a[0] - b[0]))


@figure
def three_last(torch: Side, burn: Side) -> float:
    """The same after the third step."""
    a, b = (side.run("f64")["three"][:, 0] for side in (torch, burn))
    return float(abs(a[2] - b[2]))


@claim(
    en="With the fields in another order, burn goes on as without interruption, bit for bit: {left} of {right} numbers",
    zh="字段换了次序，burn 仍和不中断时逐位相同：{right} 个数里的 {left} 个",
)
def order_is_nothing_to_burn(torch: Side, burn: Side) -> Verdict:
    return same_bits(
        burn.run("reordered")["reordered"], burn["copies.straight"]
    )


@claim(
    en="With the fields in another order, PyTorch does what it does with the two states swapped by hand, bit for bit: {left} of {right} numbers",
    zh="字段换了次序，PyTorch 的结果和手工对调两份状态逐位相同：{right} 个数里的 {left} 个",
)
def order_swaps_states(torch: Side, burn: Side) -> Verdict:
    run = torch.run("reordered")
    return same_bits(np.array(run["reordered"]), np.array(run["swapped"]))
