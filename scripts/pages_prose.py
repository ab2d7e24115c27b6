"""The rules of a text: its language, its typography, and no figure typed by hand.

Texts are as in `Page.prose`: macro calls and code spans are single private-use characters. Each rule yields faults
whose `at` is an offset in the text.
"""

import re
from collections.abc import Iterator

from scripts.pages import Fault
from scripts.pages_source import MASKS

HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
CJK = re.compile(f"[{HAN}\u3000-\u303f\uff01-\uff60]+")  # with full-width punctuation
LETTER = "A-Za-z\u00c0-\u024f\u0370-\u03ff"  # Latin and Greek
UNTRANSLATED = re.compile(rf"[{LETTER}][{LETTER}'’-]*(?:\s+[{LETTER}][{LETTER}'’-]*){{2,}}")
STUB = re.compile(r"\b(?:TODO|TBD|FIXME|lorem)\b|待补|待写", re.IGNORECASE)

HALF_WIDTH = re.compile(rf"(?<=[{HAN}])[,;:?!]|[,;:?!](?=[{HAN}])|(?<=[{HAN}])\.(?!\S)")
PARENTHESES = re.compile(rf"\([^()]*[{HAN}][^()]*\)|(?<=[{HAN}])\(|\)(?=[{HAN}])")
OTHER = rf"{LETTER}0-9{MASKS}"
UNSPACED = re.compile(rf"(?<=[{HAN}])(?=[{OTHER}])|(?<=[{OTHER}])(?=[{HAN}])")

# A name begins with a letter and may hold digits (f32, Conv1d, GPT-2); what else begins with a digit is a figure.
TOKEN = re.compile(
    rf"[{LETTER}_][{LETTER}_0-9]*(?:-\d+(?!\.?\d))?"
    r"|(?P<figure>[-+−±]?(?:\d[\d.,_]*(?<![.,])(?:e[-+−]?\d+)?[a-zA-Z_]*[%‰×]?|[\u00bc-\u00be\u2150-\u215e]))"
)
BARE = re.compile(r"[-+−±~≈<>=≤≥ ]*\d[\d.,_]*(?:e[-+−]?\d+)?(?:_?[a-z]\w{0,4})? *[%‰×]?", re.IGNORECASE)
WORDS = re.compile(
    r"\b(?:eleven|twelve|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ieth)(?:-\w+)?|dozen|hundred|thousand|(?:m|b|tr)illion)(?:th)?\b",
    re.IGNORECASE,
)
NUMERALS = "一二两三四五六七八九十百千万亿零〇"
NO_NUMBERS = re.compile(
    rf"(?<![{NUMERALS}])(?:万一|千万|万万|千百|亿万|一五一十)|[统唯单同之逐]一|[数几上][十百千万亿]+"
)
NUMBERS = re.compile(rf"(?=[{NUMERALS}]*[十百千万亿])[{NUMERALS}]{{2,}}")
MEND = "record the value and write {{ num(…) }}"


def english(text: str) -> Iterator[Fault]:
    """English has no Chinese in it."""
    for match in CJK.finditer(text):
        yield Fault(match.start(), f"Chinese on an English page: {match[0]}", "translate it")


def chinese(text: str) -> Iterator[Fault]:
    """Chinese is translated, has full-width punctuation, and a space between Han and Latin, digits, code or calls."""
    if not re.search(f"[{HAN}]", text) and (match := UNTRANSLATED.search(text)):
        yield Fault(match.start(), f"untranslated on a Chinese page: {around(text, match)}", "translate it")
    for match in HALF_WIDTH.finditer(text):
        what = f"half-width `{match[0]}` beside a Chinese character: {around(text, match)}"
        yield Fault(match.start(), what, "write the full-width `" + "，；：？！。"[",;:?!.".index(match[0])] + "`")
    for match in PARENTHESES.finditer(text):
        yield Fault(match.start(), f"half-width parenthesis in Chinese: {around(text, match)}", "write （…）")
    for match in UNSPACED.finditer(text):
        yield Fault(
            match.start(), f"no space between Chinese and other text: {around(text, match)}", "put a space between"
        )


def figures(text: str, language: str) -> Iterator[Fault]:
    """No figure is typed: neither in digits, nor as a word from eleven on."""
    for match in TOKEN.finditer(text):
        if match["figure"]:
            yield Fault(match.start(), f"the figure `{match[0]}` is typed by hand: {around(text, match)}", MEND)
    plain = NO_NUMBERS.sub(lambda m: " " * len(m[0]), text)
    for match in (NUMBERS if language == "zh" else WORDS).finditer(plain):
        yield Fault(match.start(), f"the number “{match[0]}” is typed by hand: {around(text, match)}", MEND)


def code_figures(code: str, sources: list[str]) -> Iterator[Fault]:
    """A code span with a figure in it says the same as one of the `sources`, and is not a bare number."""
    code = " ".join(code.split())
    if not any(match["figure"] for match in TOKEN.finditer(code)):
        return
    exact = re.compile(r"(?<!\w)" * code[0].isalnum() + re.escape(code) + r"(?!\w|\.\d)" * code[-1].isalnum())
    if BARE.fullmatch(code):
        yield Fault(0, f"the figure `{code}` is typed by hand, as code", MEND)
    elif not any(exact.search(source) for source in sources):
        yield Fault(0, f"the code `{code}` has a figure, and no program or capture has this code", MEND)


def stubs(text: str) -> Iterator[Fault]:
    """No text waits to be written."""
    for match in STUB.finditer(text):
        yield Fault(match.start(), f"a text that is still to be written: {around(text, match)}", "write it")


def around(text: str, match: re.Match) -> str:
    """What was found, with a few characters before and after it."""
    return " ".join(text[max(0, match.start() - 10) : match.end() + 10].split())
