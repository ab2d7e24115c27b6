"""Take a mermaid diagram apart: what must be equal in both languages, and what a reader reads.

Known: flowcharts; of other diagrams quoted texts, texts after a colon, and titles. A label stays on one line.
"""

import re
from typing import NamedTuple

HOLE = "…"  # where a label stood
QUOTED = re.compile(r'"([^"]*)"')
# In flowcharts: |text| on an edge, `-- text -->`, and text in a node's brackets.
EDGE = re.compile(r"\|([^|]*)\||(?<![-=.])(?:--|==|-\.)\s+([^-=.|><\s…](?:[^|><…]*?[^-=.|><\s…])?)\s+(?=--|==|\.-)")
NODE = re.compile(r"(?<=[\w\s@])(?:[\[({]+[/\\]?|>)\s*([^\[\](){}…]+?)\s*[/\\]?[\])}]+")
# In the other diagrams: `a ->> b: text`, `participant a as text`, `loop text`.
AFTER = re.compile(
    r"(?<!:):(?!:)\s*(.+)$|^(?:participant|actor)\s+\S+\s+as\s+(.+)$"
    r"|^(?:title|section|loop|alt|else|opt|par|and|critical|option|break)\s+(.+)$"
)
SAID = re.compile(r"^(?:accTitle|accDescr|title)\s*:\s*(.+)$")  # in every diagram
WHOLE = re.compile(r"^(.+)$")
OPENING = re.compile(r"accDescr\s*\{$")
SILENT = re.compile(r"%%\{|(?:classDef|class|style|linkStyle|click|direction|rect)\s")
TITLED = re.compile(r"^subgraph\s+(?!\w+(?:\s*\[?…\]?)?$)(.+)$", re.ASCII)  # without an id


class Statement(NamedTuple):
    """One line of a diagram, `line` counted from 0: its `skeleton`, where each label is `…`, and its labels."""

    line: int
    skeleton: str
    labels: list[str]


def statements(source: str) -> list[Statement]:
    """The statements of a diagram, without blank lines and comments."""
    found, flowchart, described = [], False, False
    for number, line in enumerate(map(str.strip, source.split("\n"))):
        if not line or (line.startswith("%%") and not line.startswith("%%{")):
            continue
        flowchart = flowchart or bool(re.match(r"(flowchart|graph)\b", line))
        described = described and line != "}"  # between `accDescr {` and `}`
        patterns = [SAID, QUOTED, EDGE, NODE, TITLED] if flowchart else [SAID, QUOTED, AFTER]
        if described:
            patterns = [WHOLE]
        elif OPENING.match(line):
            described, patterns = True, []
        elif SILENT.match(line):
            patterns = []
        labels = []
        for pattern in patterns:
            line, taken = holed(line, pattern)
            labels += taken
        found.append(Statement(number, " ".join(line.split()), list(filter(None, map(clean, labels)))))
    return found


def holed(line: str, pattern: re.Pattern) -> tuple[str, list[str]]:
    """The line with the last group of each match, and the quotes around it, replaced by a hole; and what was there."""
    labels, rest, at = [], "", 0
    for match in pattern.finditer(line):
        start, end = match.span(match.lastindex)
        labels.append(line[start:end].replace(HOLE, ""))
        rest, at = rest + line[at:start] + HOLE, end
    return (rest + line[at:]).replace(f'"{HOLE}"', HOLE), labels


def clean(label: str) -> str:
    """A label's text without Markdown, tags and character codes."""
    return re.sub(r"<[^>]*>|\\n|#\w+;|fa:[\w-]+", " ", label).strip(" `*_")
