"""What the page asserts of its runs."""

from scripts.claims import Agreement, Side, Verdict, claim, same_bits

pytorch_burn = Agreement(
    within=0.0,
    because={
        "en": "doubling is exact in binary floating point",
        "zh": "二进制浮点数乘二是精确的",
    },
)


@claim(
    en="The gradients of both are the same bits: {left} of {right}",
    zh="两边的梯度逐位相同：{right} 个里 {left} 个",
)
def same_gradient(torch: Side, burn: Side) -> Verdict:
    return same_bits(torch["gradient"], burn["gradient"])
