"""What a page may call in its `{{ … }}`: figures for its sentences, and blocks of code, output and evidence.

A figure stands in a sentence. A block stands on a line of its own, at any indentation: the call returns a token, which
`Page.expand` replaces with the block's Markdown when the page's calls have been made.
"""

import re
import tomllib
from functools import cache
from html import escape
from pathlib import PurePosixPath

import numpy as np
from mkdocs.utils.meta import get_data

from scripts import capture, execute, machine, notebook, plots
from scripts.claims import Evaluated, evaluate
from scripts.lessons import LABELS, ROOT, SIDES, lessons
from scripts.problems import Problem, Stop
from scripts.words import word

FENCES = {"pytorch": "python", "burn": "rust"}
TOKEN = re.compile(r"^([ \t]*)\ue000(\d+)\ue001[ \t]*$", re.MULTILINE)
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@cache
def evaluated(name: str) -> Evaluated:
    """A lesson's evaluation, kept until `forget` is called at the beginning of a build."""
    return evaluate(next(found for found in lessons() if found.name == name))


def forget() -> None:
    evaluated.cache_clear()


class Page:
    """The calls of one page, named by its source (`main-line/training-loop.zh.md`).

    It belongs to the lesson of its own name, or to the one that its front matter names as `lesson`.

    What the calls show of the lesson is noted in `used`: ("code", side, section), ("output", side, run, section),
    ("claim", name), ("comparison", name), ("table", name), ("plot", name).
    """

    CALLS = (
        *("num", "sci", "size", "time", "version", "claim", "teaser", "answer"),
        *("pair", "code", "output", "run", "files", "file", "comparison", "table", "plot", "receipt", "versions"),
        *("downloads", "lab"),
    )

    def __init__(self, source: str):
        stem, self.language, _ = PurePosixPath(source).name.split(".")
        self.source = source
        self.used: set[tuple[str, ...]] = set()
        self._blocks: list[str] = []
        self.meta = front_matter(source)
        self._lesson = self.meta.get("lesson", stem)
        if self._lesson not in {found.name for found in lessons()}:
            self._lesson = None

    @property
    def evaluated(self) -> Evaluated:
        if self._lesson is None:
            raise self.stop("this page belongs to no lesson", "name one in its front matter, lesson: training-loop")
        return evaluated(self._lesson)

    def stop(self, what: str, mend: str) -> Stop:
        return Stop(Problem(f"docs/{self.source}", what, mend))

    def calls(self) -> dict[str, object]:
        """Everything that the page's expressions can name."""
        calls: dict[str, object] = {name: getattr(self, name) for name in self.CALLS}
        if self._lesson:
            calls |= self.values()
        return calls

    def values(self) -> dict[str, object]:
        """The recorded values, the claims' verdicts and the comparisons of the page's lesson, and figures from elsewhere."""
        found = self.evaluated
        elsewhere = found.lesson.folder / "elsewhere.toml"
        return {
            "torch": found.torch,
            "burn": found.burn,
            "figures": found.figures,
            "claims": found.claims,
            "compared": {name: comparison for name, (_, comparison) in found.agreements.items()},
            "elsewhere": tomllib.loads(elsewhere.read_text()) if elsewhere.exists() else {},
        }

    def expand(self, text: str) -> str:
        """`text` with every block in place of its token, indented as the token is."""

        def block(match: re.Match) -> str:
            indent, index = match.groups()
            return "\n".join(indent + line if line else "" for line in self._blocks[int(index)].split("\n"))

        text = TOKEN.sub(block, text)
        if "\ue000" in text:
            line = text[: text.index("\ue000")].count("\n") + 1
            raise self.stop(f"line {line} (after expansion): a block does not stand alone", "give it a line of its own")
        return text

    def block(self, markdown: str) -> str:
        self._blocks.append(markdown)
        return f"\ue000{len(self._blocks) - 1}\ue001"

    def word(self, key: str) -> str:
        return word(key, self.language)

    # Figures

    def num(self, x, spec: str = "") -> str:
        """A number by a format specification; without one, an integer with separators of thousands in English."""
        x = np.asarray(x).item()
        if spec:
            return format(x, spec)
        if x != int(x):
            raise self.stop(f"num({x}) is no integer", 'say how many digits: num(x, ".3f")')
        return f"{int(x):,}" if self.language == "en" else str(int(x))

    def sci(self, x, digits: int = 2) -> str:
        """A number in scientific notation: 1.2 × 10⁻⁷."""
        if np.asarray(x).item() == 0:
            return "0"
        mantissa, exponent = f"{np.asarray(x).item():.{digits - 1}e}".split("e")
        power = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
        return power if mantissa.strip("0.") == "1" else f"{mantissa}\u00a0×\u00a0{power}"

    def size(self, n) -> str:
        return f"{self.num(n)} {self.word('bytes')}"

    def time(self, seconds) -> str:
        """A duration in the unit that suits it, to three digits."""
        seconds = np.asarray(seconds).item()
        factor, unit = next((f, u) for f, u in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if seconds * f >= 1 or f == 1e6)
        return f"{seconds * factor:.3g} {unit}"

    def version(self, name: str) -> str:
        """The version of torch or Python that executed, or of burn or rustc that was captured."""
        if name in ("torch", "python"):
            return getattr(machine, name)()
        return str(capture.provenance(self.evaluated.lesson)[name])

    def claim(self, name: str) -> str:
        """A mark behind a sentence: it is checked, and the receipt tells how."""
        found = self.evaluated
        if name not in found.claims:
            raise self.stop(f"no claim is named {name!r}", f"add it to snippets/{found.lesson.name}/claims.py")
        self.used.add(("claim", name))
        said = escape(found.sentences[name][self.language], quote=True)
        label = f"{self.word('checked')}: {said}"
        return f'<a class="claim" href="{self.receipt_page()}#claim-{name}" title="{said}" aria-label="{label}">✓</a>'

    def receipt_page(self) -> str:
        """Where the lesson's receipt is, as a link from this page: empty on the lesson's own page."""
        name = self.evaluated.lesson.name
        if PurePosixPath(self.source).name.startswith(f"{name}."):
            return ""
        found = next((ROOT / "docs").rglob(f"{name}.{self.language}.md")).relative_to(ROOT / "docs")
        language = "" if self.language == "zh" else f"{self.language}/"
        return f"{'../' * self.depth}{language}{found.parent.as_posix()}/{name}/"

    def teaser(self, name: str) -> str:
        """The link from a brain-teaser to its answer."""
        return f'<a class="teaser" id="{name}" href="#{name}-answer">{self.word("answer")} ↓</a>'

    def answer(self, name: str) -> str:
        """The link from an answer to its brain-teaser."""
        return f'<a class="teaser" id="{name}-answer" href="#{name}">{self.word("back")} ↑</a>'

    # Blocks

    def pair(self, section: str) -> str:
        """The same section of both programs with what it printed: side by side, or in tabs."""
        return self.tabs({side: self.program(side, section) for side in SIDES})

    def code(self, side: str, section: str) -> str:
        """A section of one program, which has no counterpart in the other, with what it printed."""
        return self.block(self.program(side, section))

    def output(self, side: str, section: str, run: str = "main") -> str:
        """What a section of a program printed."""
        return self.block(fence("text", self.printed(side, section, run)))

    def run(self, name: str) -> str:
        """What both programs printed in a run, with the command and the exit status, side by side or in tabs."""
        found, sides = self.evaluated, {}
        for side in found.lesson.runs[name].statuses:
            module = {"pytorch": execute, "burn": capture}[side]
            result = self.side(side).run(name).result
            text = "\n".join(self.printed(side, section, name) for section in result.output)
            command = module.command(found.lesson, found.lesson.runs[name])
            status = f"{self.word('exit status')}: `{result.status}`"
            sides[side] = f"{fence('text', text, command)}\n\n{status}"
        return self.tabs(sides)

    def files(self, side: str, folder: str) -> str:
        """The files that a program left below `folder`, with their sizes in bytes."""
        sizes = self.side(side).result.sizes
        found = {path: size for path, size in sizes.items() if path.startswith(f"{folder}/")}
        if not found:
            raise self.stop(f"{SIDES[side]} left no file in {folder!r}", f"it left {', '.join(sizes) or 'none'}")
        width = len(str(max(found.values())))
        return self.block(fence("text", "\n".join(f"{size:>{width}}  {path}" for path, size in found.items())))

    def file(self, side: str, path: str) -> str:
        """The text of a file that a program left and that Cargo.toml keeps."""
        texts = self.side(side).result.texts
        if path not in texts:
            raise self.stop(
                f"{SIDES[side]} left no text {path!r}", "add it to [package.metadata.files] keep, make capture"
            )
        return self.block(fence("text", texts[path].rstrip("\n"), path))

    def comparison(self, name: str, *only: str) -> str:
        """What the comparison prints; with patterns in `only`, of the lines those whose names match one."""
        found = self.evaluated
        if name not in found.agreements:
            raise self.stop(f"no comparison is named {name!r}", f"add it to snippets/{found.lesson.name}/claims.py")
        self.used.add(("comparison", name))
        command = f"python -m scripts.compare {found.lesson.name}"
        comparison = found.agreements[name][1]
        return self.block(fence("text", comparison.text(only or ("*",)), command))

    def table(self, name: str) -> str:
        """A table of the lesson's claims.py."""
        found = self.evaluated
        if name not in found.tables:
            raise self.stop(f"no table is named {name!r}", f"add it to snippets/{found.lesson.name}/claims.py")
        self.used.add(("table", name))
        header, rows = found.tables[name]
        return self.block(markdown_table(header[self.language], rows, align="right"))

    def plot(self, name: str) -> str:
        """A plot of the lesson's claims.py."""
        found = self.evaluated
        if name not in found.plots:
            raise self.stop(f"no plot is named {name!r}", f"add it to snippets/{found.lesson.name}/claims.py")
        self.used.add(("plot", name))
        said, data = found.plots[name]
        try:
            return self.block(plots.draw(said[self.language], data))
        except ValueError as error:
            mend = f"mend it in snippets/{found.lesson.name}/claims.py"
            raise self.stop(f"the plot {name!r} can't be drawn: {error}", mend) from error

    def versions(self) -> str:
        """One line: the versions that this page ran on."""
        about = capture.provenance(self.evaluated.lesson)
        torch = f"PyTorch {machine.torch()} (CPU, {self.word('one thread')})"
        return f"{torch} · burn {about['burn']} (Flex; feature: {', '.join(about['features'])})"

    def receipt(self) -> str:
        """Versions, machines, commands, every comparison with its worst distance and tolerance, every claim."""
        found = self.evaluated
        lesson, about, word = found.lesson, capture.provenance(found.lesson), self.word
        sides = [
            ["PyTorch", f"{machine.torch()}, Python {machine.python()}, {word('one thread')}", machine.processor()],
            ["burn", f"{about['burn']}, rustc {about['rustc']}", f"{about['processor']}, {about['date']}"],
        ]
        main = lesson.runs["main"]
        commands = [
            ["PyTorch", f"`{execute.command(lesson, main)}`"],
            ["burn", f"`{capture.command(lesson, main)}`"],
            [word("compares"), f"`python -m scripts.compare {lesson.name}`"],
            [word("all of it"), "`make test`"],
        ]
        comparisons = [
            [
                f"`{name}`",
                f"{self.sci(comparison.worst.difference, 3)} ({comparison.worst.name})",
                self.sci(stated.within, 1),
                ("OK" if comparison.agrees else "MISMATCH") + f" ({word('on this machine')})" * (stated.agrees is None),
                stated.because[self.language],
            ]
            for name, (stated, comparison) in found.agreements.items()
        ]
        claims = [f'- <span id="claim-{name}"></span>✓ {found.sentences[name][self.language]}' for name in found.claims]
        return self.block(
            "\n\n".join(
                [
                    markdown_table([word("side"), word("version"), word("where")], sides),
                    markdown_table([word("repeats"), word("command")], commands),
                    markdown_table(
                        [word(k) for k in ("comparison", "worst", "tolerance", "verdict", "reason")], comparisons
                    ),
                    f"**{word('claims')}**" if claims else "",
                    "\n".join(claims),
                ]
            )
        )

    def downloads(self) -> str:
        """Links to what a reader can take home: the zip of both programs and, where the lesson has one, the notebook."""
        name = self.evaluated.lesson.name
        up = "../" * self.depth
        links = [f'<a href="{up}downloads/{name}.zip">{name}.zip</a>']
        if notebook.source(self.evaluated.lesson).exists():
            file = f"{name}.{self.language}.ipynb"
            links.append(f'<a href="{up}downloads/{file}">{file}</a>')
        return " · ".join(links)

    @property
    def depth(self) -> int:
        """How many folders below the site's root the page is served from."""
        path = PurePosixPath(self.source)
        folders = len(path.parts) - 1 + (not path.name.startswith("index."))
        return folders + (self.language != "zh")

    def lab(self) -> str:
        """The lesson's executed notebook, in the page's language."""
        return self.block(notebook.html(self.evaluated.lesson, self.language))

    # Parts of blocks

    def side(self, side: str):
        if side not in SIDES:
            raise self.stop(f"there is no side {side!r}", f"write one of {', '.join(SIDES)}")
        return {"pytorch": self.evaluated.torch, "burn": self.evaluated.burn}[side]

    def printed(self, side: str, section: str, run: str = "main") -> str:
        found = self.side(side).run(run).result.output
        if section not in found:
            what = f"the run {run} of {SIDES[side]} prints no section {section!r}"
            raise self.stop(what, f"it prints {', '.join(found) or 'none'}")
        if not found[section]:
            raise self.stop(f"{SIDES[side]} prints nothing in its section {section!r} (run {run})", "make it print")
        self.used.add(("output", side, run, section))
        return found[section]

    def program(self, side: str, section: str) -> str:
        """A fence with a section's code and, where the plain run printed in that section, the output."""
        result, lesson = self.side(side).result, self.evaluated.lesson
        sections = lesson.sections(side)
        if section not in sections:
            where = lesson.where(side)
            raise self.stop(f"{where} has no section {section!r}", f"mark it there; it has {', '.join(sections)}")
        self.used.add(("code", side, section))
        title = f"snippets/{lesson.name}/{SIDES[side]}"
        if section not in result.output:
            return fence(FENCES[side], sections[section], title)
        text = self.printed(side, section)
        if side == "pytorch":
            options = f'exec="1" source="above" result="text" id="{lesson.name}/{section}"'
            return fence(FENCES[side], sections[section], title, options)
        return f"{fence(FENCES[side], sections[section], title)}\n\n{fence('text', text)}"

    def tabs(self, blocks: dict[str, str]) -> str:
        parts = [f'=== "{LABELS[side]}"\n\n{indent(block)}' for side, block in blocks.items()]
        return self.block('<div class="pair" markdown="1">\n\n' + "\n\n".join(parts) + "\n\n</div>")


def front_matter(source: str) -> dict:
    """The YAML between the `---` lines at the beginning of a page; empty where there is none."""
    _, data = get_data((ROOT / "docs" / source).read_text())
    return data


def fence(language: str, text: str, title: str = "", options: str = "") -> str:
    """A fenced block; the fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    head = " ".join(filter(None, [f"{ticks}{language}", f'title="{title}"' if title else "", options]))
    return f"{head}\n{text}\n{ticks}"


def indent(text: str) -> str:
    return "\n".join("    " + line if line else "" for line in text.split("\n"))


def markdown_table(header: list[str], rows: list[list[str]], align: str = "") -> str:
    rule = "---:" if align == "right" else "---"
    cells = [header, [rule] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)
