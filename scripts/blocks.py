"""Pieces of Markdown that the pages' calls are made of."""

import re

LONG = 16  # an output of more lines is shown folded
BUTTON = '<button type="button" class="unfold md-button">{label}</button>'


def fence(language: str, text: str, title: str = "", options: str = "") -> str:
    """A fenced block; the fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    head = " ".join(filter(None, [f"{ticks}{language}", f'title="{title}"' if title else "", options]))
    return f"{head}\n{text}\n{ticks}"


def listing(text: str, block: str, label: str) -> str:
    """`block` shows `text`; if that is long, only its beginning shows while the button `label` stands below it.

    `{lines}` in the label stands for the number of lines. Without scripts, and in print, all of it shows.
    """
    lines = text.count("\n") + 1
    if lines <= LONG:
        return block
    return f"{block}\n\n{BUTTON.format(label=label.format(lines=lines))}"


def indent(text: str, margin: str = "    ") -> str:
    return "\n".join(margin + line if line else "" for line in text.split("\n"))


def markdown_table(header: list[str], rows: list[list[str]], align: str = "") -> str:
    """A table; `align` is the alignment of its columns, `right` or that of Markdown."""
    rule = "---:" if align == "right" else "---"
    cells = [header, [rule] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)
