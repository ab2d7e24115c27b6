"""What the page asserts of its runs."""

import math

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
)

NAMES = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
LARGEST, STD, KURTOSIS = 0, 1, 2  # in what measure() notes
UNIFORM, NORMAL = 1.8, 3.0  # their kurtosis
LINEAR = 1 / math.sqrt(64)  # the bound for a Linear with that many features
HIDDEN = 1 / math.sqrt(256)  # the bound of PyTorch's LSTM and GRU

inputs = Agreement(
    within=0.0,
    because={
        "en": "both compute the formula in float64 and round once",
        "zh": "两边都用 float64 算公式，只舍入一次",
    },
    values=("x", "fc?.weight", "fc?.bias"),
)

network = Agreement(
    within=1e-6,
    because={
        "en": "the largest numbers are near 2, where float32 numbers lie 1.2e-7 apart; a weight in the wrong layout is off by tenths",
        "zh": "最大的数在 2 附近，那里相邻的 float32 相距 1.2e-7；权重布局若错，差的是零点几",
    },
    values=(
        *("hidden", "logits", "model(x)", "loss", "shifted", "largest"),
        "*.grad",
    ),
)

square = Agreement(
    within=1e-6,
    because={
        "en": "sums of four products below 1, where float32 numbers lie at most 6e-8 apart",
        "zh": "四个小于 1 的乘积之和，相邻的 float32 相距不到 6e-8",
    },
    values=("square.*",),
)

counts = Agreement(
    within=0.0,
    because={"en": "whole numbers", "zh": "整数"},
    values=("parameters", "*.parameters"),
)

gains = Agreement(
    within=1e-15,
    because={
        "en": "one or two float64 operations each, numbers below 2",
        "zh": "各一两次 float64 运算，数小于 2",
    },
    values=("gain.*",),
)


def words(side: Side, section: str) -> list[str]:
    """The first word of each line that a section printed."""
    lines = side.result.output[section].splitlines()
    return [line.split()[0] for line in lines]


@claim(
    en="Both list the same {right} parameters under the same names, in the same order",
    zh="两边列出的 {right} 个参数名字相同、次序相同",
)
def same_names(torch: Side, burn: Side) -> Verdict:
    names = words(burn, "count")[1:]
    same = words(torch, "count")[1:] == names == list(NAMES)
    return equal(len(names) if same else 0, len(NAMES))


@claim(
    en="The shapes of burn's weights are PyTorch's, reversed: {left} of {right}",
    zh="burn 权重的形状是 PyTorch 的倒过来：{right} 个里 {left} 个",
)
def shapes_reversed(torch: Side, burn: Side) -> Verdict:
    names = [f"shape.{name}" for name in NAMES]
    found = [torch[n].tolist() == burn[n].tolist()[::-1] for n in names]
    return equal(sum(found), len(NAMES))


def printed_shapes(side: Side) -> str:
    """The shapes of the sum of all and of the sums of the rows."""
    lines = side.result.output["reductions"].splitlines()[:2]
    return ", ".join(line[line.index("[") :] for line in lines)


@claim(
    en="burn's reductions keep the rank: the sums have the shapes {left}",
    zh="burn 的归约保留维数：两种求和的形状是 {left}",
)
def rank_kept(torch: Side, burn: Side) -> Verdict:
    return equal(printed_shapes(burn), "[1], [16, 1]")


@claim(
    en="PyTorch's drop the dimension: {left}",
    zh="PyTorch 的归约去掉那一维：{left}",
)
def rank_dropped(torch: Side, burn: Side) -> Verdict:
    return equal(printed_shapes(torch), "[], [16]")


@claim(
    en="With the weight of a square layer as PyTorch has it, burn's output is off by {right}, more than {left}, and nothing fails",
    zh="方阵的权重若照搬 PyTorch 的布局，burn 的输出差到 {right}，大于 {left}，却不报错",
)
def wrong_is_wrong(torch: Side, burn: Side) -> Verdict:
    off = np.abs(burn["square.wrong"] - torch["square.right"]).max()
    return less(0.5, float(off))


def all_four(torch: Side, burn: Side, of: int) -> list[float]:
    """One moment of the Linear's weight and bias, of both sides."""
    names = ("linear.weight", "linear.bias")
    return [float(side[name][of]) for side in (torch, burn) for name in names]


@claim(
    en="No default weight or bias of a Linear exceeds 1/√in: {left} at most, against {right}",
    zh="Linear 默认的权重和偏置都不超过 1/√in：最大 {left}，界限 {right}",
)
def linear_bounded(torch: Side, burn: Side) -> Verdict:
    return at_most(max(all_four(torch, burn, LARGEST)), LINEAR)


@claim(
    en="The largest weight and the largest bias come within 1 % of the bound on both sides: {left} ≤ {right}",
    zh="两边最大的权重和最大的偏置离界限都不到 1%：{left} ≤ {right}",
)
def linear_fills(torch: Side, burn: Side) -> Verdict:
    return at_most(0.99 * LINEAR, min(all_four(torch, burn, LARGEST)))


@claim(
    en="All four standard deviations are within 4 % of the uniform distribution's, 1/√(3·in); the furthest is {left} away",
    zh="四个标准差与均匀分布的 1/√(3·in) 相差都不到 4%，最多差 {left}",
)
def linear_spread(torch: Side, burn: Side) -> Verdict:
    expected = LINEAR / math.sqrt(3)
    return at_most(
        max(abs(s / expected - 1) for s in all_four(torch, burn, STD)), 0.04
    )


@claim(
    en="All four kurtoses are within 0.1 of the uniform distribution's 1.8, a normal one having 3; the furthest is {left} away",
    zh="四个峰度与均匀分布的 1.8 相差都不到 0.1（正态分布是 3），最多差 {left}",
)
def linear_uniform(torch: Side, burn: Side) -> Verdict:
    found = all_four(torch, burn, KURTOSIS)
    return at_most(max(abs(k - UNIFORM) for k in found), 0.1)


@claim(
    en="With LinearLayout::Col, burn's largest weight is {left}: at most 1/√out, {right}",
    zh="用 LinearLayout::Col 时，burn 最大的权重是 {left}，不超过 1/√out，即 {right}",
)
def column_bound(torch: Side, burn: Side) -> Verdict:
    return at_most(float(burn["column.weight"][LARGEST]), 1 / math.sqrt(4096))


@claim(
    en="The bias beside it keeps to 1/√in: its largest is {right}, more than {left}",
    zh="旁边的偏置仍按 1/√in：最大 {right}，大于 {left}",
)
def column_bias(torch: Side, burn: Side) -> Verdict:
    return less(0.99 * LINEAR, float(burn["column.bias"][LARGEST]))


@claim(
    en="Conv2d and Embedding are drawn alike on both sides: the standard deviations differ by {left} at most, below 5 %, the kurtoses by at most 0.3",
    zh="Conv2d 和 Embedding 两边抽法相同：标准差最多相差 {left}，不到 5%，峰度相差不到 0.3",
)
def conv_and_embedding(torch: Side, burn: Side) -> Verdict:
    names = ("conv2d.weight", "conv2d.bias", "embedding.weight")
    pairs = [(torch[name], burn[name]) for name in names]
    spread = max(abs(float(a[STD] / b[STD]) - 1) for a, b in pairs)
    shape = max(abs(float(a[KURTOSIS] - b[KURTOSIS])) for a, b in pairs)
    return Verdict(spread, "≤", 0.05, spread <= 0.05 and shape <= 0.3)


@claim(
    en="PyTorch's LSTM and GRU stay within 1/√hidden: {left} at most, against {right}",
    zh="PyTorch 的 LSTM 和 GRU 不超过 1/√hidden：最大 {left}，界限 {right}",
)
def torch_recurrent(torch: Side, burn: Side) -> Verdict:
    names = ("lstm.weight", "lstm.bias", "gru.weight", "gru.bias")
    return at_most(max(float(torch[n][LARGEST]) for n in names), HIDDEN)


@claim(
    en="burn's LSTM and GRU have the spread of Xavier normal, √(2/(in+hidden)); the furthest of four is {left} away, relatively, below 10 %",
    zh="burn 的 LSTM 和 GRU 的离散程度是 Xavier 正态的 √(2/(in+hidden))：四个里最多差 {left}，不到 10%",
)
def burn_recurrent(torch: Side, burn: Side) -> Verdict:
    names = ("lstm.weight", "lstm.bias", "gru.weight", "gru.bias")
    expected = math.sqrt(2 / (64 + 256))
    return at_most(
        max(abs(float(burn[n][STD]) / expected - 1) for n in names), 0.1
    )


@claim(
    en="They are normal, not uniform: the smallest of the four kurtoses is {right}, above {left}",
    zh="它们是正态而不是均匀的：四个峰度里最小的是 {right}，大于 {left}",
)
def burn_recurrent_normal(torch: Side, burn: Side) -> Verdict:
    names = ("lstm.weight", "lstm.bias", "gru.weight", "gru.bias")
    return less(2.4, min(float(burn[n][KURTOSIS]) for n in names))


@claim(
    en="Attention's biases: {left} is PyTorch's largest, {right} burn's",
    zh="注意力的偏置：PyTorch 最大的是 {left}，burn 最大的是 {right}",
)
def attention_bias(torch: Side, burn: Side) -> Verdict:
    largest = [float(s["attention.bias"][LARGEST]) for s in (torch, burn)]
    return Verdict(largest[0], "<", largest[1], largest[0] == 0 < largest[1])


@claim(
    en="PyTorch's attention weights fill the bound of one matrix for query, key and value, √(6/(d+3d)): {left} at most, against {right}, within 1 %",
    zh="PyTorch 的注意力权重抽满了“查询、键、值合成一个矩阵”的界限 √(6/(d+3d))：最大 {left}，界限 {right}，相差不到 1%",
)
def attention_joint(torch: Side, burn: Side) -> Verdict:
    largest = float(torch["attention.weight"][LARGEST])
    bound = math.sqrt(6 / (256 + 3 * 256))
    # float32 rounds the largest draw and the bound on its own
    return Verdict(largest, "≈", bound, 0.99 < largest / bound < 1 + 1e-6)


@claim(
    en="The recipe for ReLU gives the same spread on both sides, √(2/in); the further is {left} away, relatively, below 2 %",
    zh="ReLU 的配方在两边给出同样的离散程度 √(2/in)：最多差 {left}，不到 2%",
)
def recipe_he(torch: Side, burn: Side) -> Verdict:
    found = [float(side["recipe.he.weight"][STD]) for side in (torch, burn)]
    return at_most(max(abs(s / math.sqrt(2 / 64) - 1) for s in found), 0.02)


@claim(
    en="The recipe's biases are zero on both sides: the largest is {left}",
    zh="配方里的偏置两边都是零：最大的是 {left}",
)
def recipe_bias(torch: Side, burn: Side) -> Verdict:
    found = [float(side["recipe.he.bias"][LARGEST]) for side in (torch, burn)]
    return equal(max(found), 0.0)


@claim(
    en="burn's with_initializer(Normal) draws the bias as well: its spread is that of the recipe on both sides, off by {left} at most, below 6 %",
    zh="burn 的 with_initializer(Normal) 把偏置也一起抽了：它的离散程度与配方一致，两边最多差 {left}，不到 6%",
)
def recipe_normal(torch: Side, burn: Side) -> Verdict:
    names = ("recipe.normal.weight", "recipe.normal.bias")
    found = [float(side[n][STD]) for side in (torch, burn) for n in names]
    return at_most(max(abs(s / 0.02 - 1) for s in found), 0.06)


@claim(
    en="burn's LSTM with Uniform has PyTorch's bound, 1/√hidden, and fills it: the smallest of the largest is {left}",
    zh="burn 的 LSTM 换成 Uniform 后，界限就是 PyTorch 的 1/√hidden，而且抽满：最大值里最小的是 {left}",
)
def recipe_lstm(torch: Side, burn: Side) -> Verdict:
    names = ("recipe.lstm.weight", "recipe.lstm.bias")
    found = [float(side[n][LARGEST]) for side in (torch, burn) for n in names]
    holds = 0.98 * HIDDEN <= min(found) and max(found) <= HIDDEN
    return Verdict(min(found), "≈", HIDDEN, holds)


@claim(
    en="PyTorch's LSTM after the reverse recipe has the spread of burn's; the furthest of four is {left} away, relatively, below 10 %",
    zh="PyTorch 的 LSTM 按反向配方重抽后，离散程度与 burn 的一致：四个里最多差 {left}，不到 10%",
)
def recipe_reverse(torch: Side, burn: Side) -> Verdict:
    names = ("recipe.reverse.weight", "recipe.reverse.bias")
    found = [float(side[n][STD]) for side in (torch, burn) for n in names]
    expected = math.sqrt(2 / (64 + 256))
    return at_most(max(abs(s / expected - 1) for s in found), 0.1)


@claim(
    en="With the same seed, {left} of {right} draws of the two frameworks differ",
    zh="种子相同，两个框架抽的 {right} 个数里 {left} 个不同",
)
def streams_differ(torch: Side, burn: Side) -> Verdict:
    apart = np.abs(torch["stream"] - burn["stream"]) > 1e-3
    return equal(int(apart.sum()), torch["stream"].size)


def drawn_with(side: Side) -> list[int]:
    """The seeds that give the weight which the experiment got."""
    seeds = (3, 99)
    weight = side["lazy.weight"]
    return [s for s in seeds if np.array_equal(side[f"lazy.seed-{s}"], weight)]


@claim(
    en="PyTorch's weight is that of the seed before the layer was built: {left}",
    zh="PyTorch 的权重是建层之前那个种子给的：{left}",
)
def torch_draws_when_built(torch: Side, burn: Side) -> Verdict:
    return equal(drawn_with(torch), [3])


@claim(
    en="burn's weight is that of the seed in force when it was first used: {left}",
    zh="burn 的权重是第一次使用时生效的种子给的：{left}",
)
def burn_draws_when_used(torch: Side, burn: Side) -> Verdict:
    return equal(drawn_with(burn), [99])


@claim(
    en="Two layers seeded alike, built, and only then used: equal in PyTorch, {left}; in burn, {right}",
    zh="两层各自播同样的种子、建好、然后才使用，是否相同：PyTorch {left}，burn {right}",
)
def twins_differ(torch: Side, burn: Side) -> Verdict:
    found = [bool(side["twins.seeded"].item()) for side in (torch, burn)]
    return Verdict(found[0], "≠", found[1], found == [True, False])


@claim(
    en="A clone taken before the first use has the same weight: {left}",
    zh="第一次使用之前克隆出来的副本，权重相同：{left}",
)
def clones_share(torch: Side, burn: Side) -> Verdict:
    return equal(bool(burn["twins.cloned"].item()), True)


@claim(
    en="After a model was built, loaded and used, the seed's first {left} of {right} draws are still to come",
    zh="建模型、加载权重、使用之后，种子的头 {right} 个随机数里 {left} 个还没动过",
)
def loading_draws_nothing(torch: Side, burn: Side) -> Verdict:
    return same_bits(burn["stream"], burn["stream.after-load"])


def unchanged(side: Side) -> list[str]:
    """The parameters that printing left as they were."""
    run = side.run("brain-teaser")
    return [
        name
        for name in NAMES
        if np.array_equal(run[f"silent.{name}"], run[f"printed.{name}"])
    ]


@claim(
    en="In PyTorch printing changes none of the {right} parameters",
    zh="PyTorch 里，打印不改变 {right} 个参数中的任何一个",
)
def print_harmless(torch: Side, burn: Side) -> Verdict:
    return equal(len(unchanged(torch)), len(NAMES))


@claim(
    en="In burn printing changes the drawn parameters, all but {left}",
    zh="burn 里，打印改变了抽出来的参数，没变的只有 {left}",
)
def print_changes(torch: Side, burn: Side) -> Verdict:
    return equal(", ".join(unchanged(burn)), "fc1.weight, fc2.bias")


@claim(
    en="The draws that fc1.bias gets without printing are, rescaled, the first of fc2.weight with it: {left} apart at most, below {right}",
    zh="不打印时归 fc1.bias 的那些随机数，打印之后乘上比例就是 fc2.weight 的开头几个：最多相差 {left}，小于 {right}",
)
def draws_moved(torch: Side, burn: Side) -> Verdict:
    run = burn.run("brain-teaser")
    bias = run["silent.fc1.bias"]
    weight = run["printed.fc2.weight"].flatten()[: bias.size]
    # the bounds of the two: 1/√4 and 1/√8
    return less(float(np.abs(bias - weight * math.sqrt(8 / 4)).max()), 1e-6)


@claim(
    en="In either order as many numbers are drawn before fc2.bias, {left} and {right}: it begins at the same place of the stream",
    zh="两种次序下，fc2.bias 之前抽掉的随机数一样多：{left} 和 {right}",
)
def same_place(torch: Side, burn: Side) -> Verdict:
    run = burn.run("brain-teaser")
    size = {name: run[f"silent.{name}"].size for name in NAMES}
    silent = NAMES
    printed = ("fc1.weight", "fc2.weight", "fc1.bias", "fc2.bias")

    def before(order: tuple[str, ...]) -> int:
        return sum(size[n] for n in order[: order.index("fc2.bias")])

    return equal(before(silent), before(printed))


@figure
def linear_bound(torch: Side, burn: Side) -> float:
    return LINEAR


@figure
def uniform_kurtosis(torch: Side, burn: Side) -> float:
    """Of U(-1, 1): the mean of the fourth powers over that of the squares, squared."""
    return (1 / 5) / (1 / 3) ** 2


@figure
def column_ratio(torch: Side, burn: Side) -> float:
    """How much smaller the largest weight is in column layout."""
    return float(
        burn["linear.weight"][LARGEST] / burn["column.weight"][LARGEST]
    )


def law(found: np.ndarray) -> str:
    """How a parameter is distributed, by its moments."""
    largest, std, kurtosis = found
    if std == 0:
        return f"{largest:.0f}"
    if kurtosis < (UNIFORM + NORMAL) / 2:
        return f"U(±{largest:.4f})"
    return f"N(σ={std:.4f})"


@table(
    en="parameters | largest | σ | kurtosis",
    zh="参数 | 最大 | σ | 峰度",
)
def linear(torch: Side, burn: Side) -> list[list[str]]:
    """The moments of a Linear's default parameters."""
    sides = {"PyTorch": torch, "burn": burn}
    return [
        [f"{name}: {end}", *(f"{x:.4f}" for x in side[f"linear.{end}"])]
        for end in ("weight", "bias")
        for name, side in sides.items()
    ]


def laws(torch: Side, burn: Side, names: dict[str, str]) -> list[list[str]]:
    return [
        [label, law(torch[name]), law(burn[name])]
        for name, label in names.items()
    ]


@table(en="default | PyTorch | burn", zh="默认 | PyTorch | burn")
def layers(torch: Side, burn: Side) -> list[list[str]]:
    """How the parameters of each layer are distributed by default."""
    return laws(
        torch,
        burn,
        {
            f"{layer}.{end}": f"{label} {end}"
            for layer, label in {
                "linear": "Linear",
                "conv2d": "Conv2d",
                "embedding": "Embedding",
                "lstm": "LSTM",
                "gru": "GRU",
                "attention": "attention",
            }.items()
            for end in ("weight", "bias")
            if (layer, end) != ("embedding", "bias")
        },
    )


@table(en="recipe | PyTorch | burn", zh="配方 | PyTorch | burn")
def recipes(torch: Side, burn: Side) -> list[list[str]]:
    """How the parameters of each recipe are distributed."""
    return laws(
        torch,
        burn,
        {
            f"recipe.{recipe}.{end}": f"{recipe} {end}"
            for recipe in ("he", "normal", "lstm", "reverse")
            for end in ("weight", "bias")
        },
    )
