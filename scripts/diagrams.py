"""Diagrams: mermaid draws each fence once, and the page holds the two SVGs that it drew: no script and no request.

`make diagrams` (`python -m scripts.diagrams`) draws what is missing and removes what no page uses; `check` names what
that would change, and what it can't mend; `fence` puts the drawings into a page. A drawing lies in the store under the
key of all that decides its looks, as `<key>.light.svg` and `<key>.dark.svg`, with the digests of both in
`diagrams.json`; only this module writes there.
"""

import hashlib
import html
import json
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from pymdownx.superfences import SuperFencesException

from scripts.drawing import SCHEMES, draw, key
from scripts.problems import Problem, Stop

DOCS = Path(__file__).resolve().parent.parent / "docs"
STORE = DOCS / "assets" / "diagrams"
MEND = "make diagrams"

FENCE = re.compile(r"(?P<lead>[> ]*)(?P<marks>`{3,}|~{3,}) *(?P<info>[^`]*)$")
MERMAID = re.compile(r"(\{ *)?\.?mermaid(?![\w-])")
OWN_STYLE = re.compile(r"^\s*(classDef|style|linkStyle)\b|%%\{|^---\s*$", re.MULTILINE)

# Where a source's labels are not, and where they are: in quotes, on an edge, in brackets, after a colon or `as`.
UNSAID = re.compile(r"^\s*(%%|class |click |accTitle|accDescr *:).*$|accDescr\s*\{[^}]*\}|@\{[^}\"]*\}", re.MULTILINE)
QUOTED = re.compile(r'\|?"([^"]+)"\|?|\|([^|"\n]+)\|')
BRACKETED = re.compile(r'\w ?[\[({>]+[/\\]?([^\[\](){}"|<>]+?)[/\\]?[\])}]')
SPOKEN = re.compile(r"(?<!:):(?!:) *(.+)$|^\s*(?:participant|actor) +\S+ +as +(.+)$", re.MULTILINE)


class Diagram(NamedTuple):
    """One mermaid fence: its page (relative to the docs folder), the line where it opens (from 1), its source."""

    page: Path
    line: int
    source: str


def find(docs: Path = DOCS) -> list[Diagram]:
    """Every mermaid fence of every page, as superfences reads it; an example inside another fence is none."""
    found = []
    for page in sorted(docs.rglob("*.md")):
        lines = enumerate(page.read_text(encoding="utf-8").expandtabs(4).splitlines(), 1)
        for number, line in lines:
            if opening := FENCE.match(line):
                body = []
                for _, inner in lines:
                    if inner.lstrip("> ").rstrip() == opening["marks"]:
                        break
                    body.append(inner[len(opening["lead"]) :])
                if MERMAID.match(opening["info"]):
                    found.append(Diagram(page.relative_to(docs), number, "\n".join(body)))
    return found


def place(docs: Path, diagram: Diagram) -> str:
    """The page and line that a problem names."""
    return f"{docs.name}/{diagram.page.as_posix()}:{diagram.line}"


def labels(source: str) -> list[str]:
    """What the source says that a reader must see."""
    said = UNSAID.sub("", source)
    found = [quoted or edge for quoted, edge in QUOTED.findall(said)]
    if re.match(r"\s*(flowchart|graph)\b", said):
        found += BRACKETED.findall(QUOTED.sub('""', said))
    if re.match(r"\s*(sequence|state)Diagram", said):
        found += [message or name for message, name in SPOKEN.findall(said)]
    return [label.strip() for label in found if label.strip()]


def squeezed(text: str) -> str:
    """A text without what drawing may change in it: spaces, line breaks, Markdown's marks, escaped characters."""
    text = re.sub(r"#(\d*)(\w*);", lambda code: html.unescape(f"&{'#' if code[1] else ''}{code[1]}{code[2]};"), text)
    return re.sub(r"<br ?/?>|\\n|[\s`*_]", "", text)


def read_ledger(store: Path) -> dict[str, dict[str, str]]:
    """By key: the digest of each scheme's SVG, the versions of mermaid and of the browser. Empty if unreadable."""
    try:
        return json.loads((store / "diagrams.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}


def fault(store: Path, source: str) -> tuple[str, str] | None:
    """What is wrong with the stored drawings of a source, and its mend; None where they are as mermaid drew them."""
    name = key(source)
    paths = {scheme: store / f"{name}.{scheme}.svg" for scheme in SCHEMES}
    missing = [path.name for path in paths.values() if not path.exists()]
    if len(missing) == len(SCHEMES):
        return f"the diagram was never drawn as it stands now: there is no {' and no '.join(missing)}", MEND
    if missing:
        return f"half of the pair is missing: there is no {missing[0]}", MEND
    drawn = read_ledger(store).get(name, {})
    for scheme, path in paths.items():
        if hashlib.sha256(path.read_bytes()).hexdigest() != drawn.get(scheme):
            return f"{path.name} is not what mermaid drew: its digest is not the one in diagrams.json", MEND
        texts = ElementTree.fromstring(path.read_bytes()).iter("{http://www.w3.org/2000/svg}text")
        shown = squeezed("".join(part for text in texts for part in text.itertext()))
        for label in labels(source):
            if squeezed(label) not in shown:
                return f"{path.name} lacks the label {label!r} of its source", "write it so that mermaid shows it"
    return None


def check_sources(docs: Path, diagrams: list[Diagram]) -> list[Problem]:
    """What no drawing mends: alternative text, colours for one scheme alone, macros, the same diagram twice."""
    problems, seen = [], set()
    for diagram in diagrams:
        found, source, once = [], diagram.source, (diagram.page, key(diagram.source))
        for word in ("accTitle", "accDescr"):
            if not re.search(rf"^ *{word} *(: *\S|{{\s*[^}}\s])", source, re.MULTILINE):
                what = f"the diagram has no `{word}:`, its text for those who can't see it"
                found.append((what, f"add a line `{word}: …` below the diagram's first line"))
        if own := OWN_STYLE.search(source):
            what = f"`{own[0].strip()}` in a diagram can't suit both colour schemes"
            found.append((what, "use a class that scripts/mermaid/config.json colours for both"))
        if macro := re.search(r"\{[{%#]", source):
            found.append((f"`{macro[0]}` in a diagram is read by mkdocs-macros before mermaid", "use another shape"))
        if once in seen:
            found.append(("the page shows this diagram twice", "remove one of the two"))
        seen.add(once)
        problems += [Problem(place(docs, diagram), *one) for one in found]
    return problems


def unused(diagrams: list[Diagram], store: Path) -> list[Path]:
    """What lies in the store and belongs to no diagram, the rest of an interrupted run included."""
    used = {f"{key(diagram.source)}.{scheme}.svg" for diagram in diagrams for scheme in SCHEMES} | {"diagrams.json"}
    return [path for path in sorted(store.glob("*")) if path.name not in used]


def check(docs: Path = DOCS, store: Path = STORE) -> list[Problem]:
    """Every fault of the pages' diagrams and of the stored drawings; nothing is drawn or changed."""
    diagrams = find(docs)
    faults = [(place(docs, diagram), fault(store, diagram.source)) for diagram in diagrams]
    strays = [os.path.relpath(path, docs.parent) for path in unused(diagrams, store)]
    return (
        check_sources(docs, diagrams)
        + [Problem(where, *found) for where, found in faults if found]
        + [Problem(stray, "no page uses it", MEND) for stray in strays]
    )


def fence(source: str, language: str, css_class: str, options: dict, md, **kwargs) -> str:
    """A custom fence of superfences: the figure with the drawings for both schemes, of which the style sheet shows one.

    Raises SuperFencesException, which ends the build, where the drawings are missing or not as mermaid drew them.
    """
    if found := fault(STORE, source):
        raise SuperFencesException(str(Problem(f"diagram {source.strip()[:60]!r}", *found)))
    light, dark = ((STORE / f"{key(source)}.{scheme}.svg").read_text(encoding="utf-8").strip() for scheme in SCHEMES)
    return (
        f'<figure class="diagram"><div class="diagram-light">{light}</div>'
        f'<div class="diagram-dark" data-search-exclude>{dark}</div></figure>'
    )


def write(path: Path, text: str) -> None:
    """The whole file or nothing."""
    half = path.with_name(f".{path.name}")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def update(docs: Path = DOCS, store: Path = STORE) -> None:
    """Draw what is missing or changed, then remove what no page uses. Broken off anywhere, the next run completes it.

    Raises Stop, and changes nothing, where mermaid can't draw a diagram.
    """
    diagrams = find(docs)
    drawn = draw({place(docs, diagram): diagram.source for diagram in diagrams if fault(store, diagram.source)})
    kept = {name: entry for name, entry in read_ledger(store).items() if name in map(key, (d.source for d in diagrams))}
    store.mkdir(parents=True, exist_ok=True)
    for name, entry in drawn.items():
        for scheme in SCHEMES:
            write(store / f"{name}.{scheme}.svg", entry[scheme])
            entry[scheme] = hashlib.sha256(entry[scheme].encode()).hexdigest()
    write(store / "diagrams.json", json.dumps(kept | drawn, indent=2, sort_keys=True) + "\n")
    for path in unused(diagrams, store):
        path.unlink()


def main() -> int:
    """Draw, then check; the exit status."""
    try:
        update()
        problems = check()
    except Stop as stop:
        problems = stop.problems
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
