"""Begin a lesson: `python -m scripts.new_lesson NAME PART` writes both programs and both pages, ready to be filled in.

The programs run, agree, and pass every check once `make capture diagrams` was run; the pages are marked as drafts, which
`make serve` shows and `make site` refuses. What is in `scripts/template/` is copied, with `@NAME@` in place.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.check_pages import nav
from scripts.lessons import ROOT
from scripts.problems import Problem, Stop

PARTS = ("main-line", "pytorch", "burn", "hands-on", "reference")
TEMPLATE = ROOT / "scripts" / "template"


def new_lesson(name: str, part: str) -> list[Path]:
    """Write the lesson's files and its line of `nav`; returns the files. Raises `Stop` and writes nothing if it can't."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise Stop(Problem(f"NAME={name}", "it is not lower-case words with hyphens", "such as NAME=optimizer-state"))
    if part not in PARTS:
        raise Stop(Problem(f"PART={part}", "there is no such part", f"choose one of {', '.join(PARTS)}"))
    targets = {
        TEMPLATE / file: ROOT / "snippets" / name / file.removesuffix(".template")
        for file in ("pytorch.py.template", "burn.rs.template", "Cargo.toml.template", "claims.py.template")
    } | {TEMPLATE / f"page.{lang}.md": ROOT / "docs" / part / f"{name}.{lang}.md" for lang in ("zh", "en")}
    there = [path for path in targets.values() if path.exists()]
    if there:
        raise Stop(Problem(there[0].relative_to(ROOT).as_posix(), "it exists already", "choose another NAME"))
    entered = with_entry((ROOT / "mkdocs.yml").read_text(), name, part)
    for source, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text().replace("@NAME@", name))
    (ROOT / "mkdocs.yml").write_text(entered)
    return list(targets.values())


def with_entry(config: str, name: str, part: str) -> str:
    """mkdocs.yml with the page at the end of its part's list under `nav`, and the part itself where it is new."""
    lines = config.split("\n")
    start = lines.index("nav:")
    end = next(i for i in range(start + 1, len(lines)) if lines[i] and not lines[i].startswith(" "))
    while not lines[end - 1].strip():
        end -= 1
    entry = f"      - {part}/{name}.md"
    for i in range(start, end):
        if lines[i] == f"  - {part}:":
            last = i + 1
            while last < end and lines[last].startswith("      - "):
                last += 1
            return "\n".join([*lines[:last], entry, *lines[last:]])
    return "\n".join([*lines[:end], f"  - {part}:", entry, *lines[end:]])


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("make lesson NAME=optimizer-state PART=main-line")
    try:
        written = new_lesson(*sys.argv[1:])
    except Stop as stop:
        sys.exit(str(stop))
    for path in written:
        print(path.relative_to(ROOT))
    if shutil.which("cargo"):
        subprocess.run(["cargo", "update", "--quiet", "--workspace", "--offline"], cwd=ROOT, check=True)
    print(f"mkdocs.yml: {sys.argv[2]}/{sys.argv[1]}.md ({len(nav(ROOT))} pages)")
    print("Next: make capture diagrams && make serve")


if __name__ == "__main__":
    main()
