"""What a page may call in its `{{ … }}`: figures for its sentences, and blocks of code, output and evidence.

A figure stands in a sentence. A block stands on a line of its own, at any indentation: the call returns a token, which
`Page.expand` replaces with the block's Markdown when the page's calls have been made: the site's, or the plain one of
the page's Markdown edition.
"""

import json
import re
import tomllib
from functools import partial
from html import escape
from pathlib import PurePosixPath

import numpy as np

from scripts import capture, execute, machine, plots, shelf, whole
from scripts.blocks import fence, indent, listing, markdown_table
from scripts.claims import Evaluated, evaluated
from scripts.lessons import LABELS, SIDES, lessons
from scripts.problems import Problem, Stop
from scripts.words import word

FENCES = {"pytorch": "python", "burn": "rust"}
NOT_ALONE = re.compile(r"[ \n]+(?=<a class=\"claim\")")  # a claim's mark stays with the word before it
TOKEN = re.compile(r"^([ \t]*)\ue000(\d+)\ue001[ \t]*$", re.MULTILINE)
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Page:
    """The calls of one page, named by its source (`main-line/training-loop.zh.md`).

    It belongs to the lesson of its own name, or to the one that its front matter names as `lesson`.

    What the calls show of the lesson is noted in `used`: ("code", side, section), ("output", side, run, section),
    ("claim", name), ("comparison", name), ("table", name), ("plot", name).
    """

    CALLS = (
        *("num", "sci", "size", "time", "version", "claim", "option", "teaser", "answer"),
        *("pair", "code", "output", "run", "files", "file", "comparison", "table", "plot"),
    )

    def __init__(self, source: str):
        stem, self.language, _ = PurePosixPath(source).name.split(".")
        self.source = source
        self.used: set[tuple[str, ...]] = set()
        self._blocks: list[tuple[str, str]] = []  # each block as the site and as the Markdown edition shows it
        self._letters: dict[str, str] = {}  # of the options of brain-teasers
        self._asked: list[str] = []  # the options of the brain-teaser that is being asked
        self.meta = shelf.meta(source)
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
        calls |= {call.__name__: partial(call, self) for call in whole.CALLS}
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

    def expand(self, text: str, plain: bool = False) -> str:
        """`text` with every block in place of its token, indented as the token is.

        `plain` asks for the blocks of the Markdown edition, which has code, outputs and tables, but no HTML.
        """

        def block(match: re.Match) -> str:
            margin, index = match.groups()
            return indent(self._blocks[int(index)][plain], margin)

        text = NOT_ALONE.sub("\u00a0", TOKEN.sub(block, self.with_needs(text)))
        if "\ue000" in text:
            line = text[: text.index("\ue000")].count("\n") + 1
            raise self.stop(f"line {line} (after expansion): a block does not stand alone", "give it a line of its own")
        return text

    def with_needs(self, text: str) -> str:
        """`text` with the lessons that the page's front matter says to read before it, below its first heading."""
        if not (names := self.meta.get("needs")):
            return text
        links = []
        for name in names:
            where = next((source for source in shelf.pages(self.language) if shelf.stem(source) == name), None)
            if where is None:
                raise self.stop(f"it needs {name!r}, and there is no such page", "name lessons under needs:")
            links.append(self.link(where))
        said = f"{self.word('needs')}{' · '.join(links)}\n{{: .needs }}"
        return shelf.TITLE.sub(lambda heading: f"{heading[0]}\n\n{said}", text, count=1)

    def block(self, markdown: str, plain: str | None = None) -> str:
        self._blocks.append((markdown, markdown if plain is None else plain))
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
        if int(exponent) == 0:
            return mantissa
        power = f"10{str(int(exponent)).translate(SUPERSCRIPT)}"
        return power if mantissa.strip("0.") == "1" else f"{mantissa}\u00a0×\u00a0{power}"

    def size(self, n) -> str:
        return f"{self.num(n)}\u00a0{self.word('bytes')}"

    def time(self, seconds) -> str:
        """A duration in the unit that suits it, to three digits."""
        seconds = np.asarray(seconds).item()
        factor, unit = next((f, u) for f, u in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if seconds * f >= 1 or f == 1e6)
        return f"{seconds * factor:.3g}\u00a0{unit}"

    def version(self, name: str) -> str:
        """The version of torch or Python that executed, or of burn or rustc that was captured."""
        if name in ("torch", "python"):
            return getattr(machine, name)()
        return str(capture.provenance(self.evaluated.lesson)[name])

    def claim(self, name: str) -> str:
        """A mark behind a sentence: it is checked, and the receipt tells how."""
        self.stated("claim", self.evaluated.claims, name)
        said = escape(self.evaluated.sentences[name][self.language], quote=True)
        label = f"{self.word('checked')}: {said}"
        return f'<a class="claim" href="{self.receipt_page()}#claim-{name}" title="{said}" aria-label="{label}">✓</a>'

    def receipt_page(self) -> str:
        """Where the lesson's receipt is, as a link from this page: empty on the lesson's own page."""
        name = self.evaluated.lesson.name
        if PurePosixPath(self.source).name.startswith(f"{name}."):
            return ""
        found = next(source for source in shelf.lesson_pages(self.language) if shelf.stem(source) == name)
        return f"{self.root}{shelf.address(found)}"

    def option(self, name: str) -> str:
        """The letter of a brain-teaser's option, which has the id `name`: in the question, and wherever it is spoken of."""
        if name in self._letters:
            return f'<a class="option" data-option="{name}" href="#option-{name}">{self._letters[name]}</a>'
        self._asked.append(name)
        letter = self._letters[name] = chr(ord("A") + len(self._asked) - 1)
        return f'<b class="option" data-option="{name}" id="option-{name}">{letter}</b>'

    def teaser(self, name: str) -> str:
        """The link from a brain-teaser to its answer, behind the options."""
        self._asked.clear()
        return f'<a class="teaser" id="{name}" href="#{name}-answer">{self.word("answer")} ↓</a>'

    def answer(self, name: str, right: str) -> str:
        """The link from an answer to its brain-teaser, of which the option `right` is the right one."""
        if right not in self._letters:
            raise self.stop(f"the brain-teaser {name!r} has no option {right!r}", "name one of its options")
        label = f"{self.word('back')} ↑"
        return f'<a class="teaser" id="{name}-answer" data-right="{right}" href="#{name}">{label}</a>'

    # Blocks

    def pair(self, section: str) -> str:
        """The same section of both programs with what it printed: side by side, or in tabs.

        Its marked parts are the same on both sides, since they light up together.
        """
        programs = {side: self.program(side, section) for side in SIDES}
        parts = {side: self.evaluated.lesson.sections(side)[section].parts for side in SIDES}
        if parts["pytorch"].keys() != parts["burn"].keys():
            where = " and ".join(self.evaluated.lesson.where(side, section) for side in SIDES)
            alone = ", ".join(sorted(parts["pytorch"].keys() ^ parts["burn"].keys()))
            raise self.stop(f"{where} have other parts: {alone} on one side only", "mark it in both, or in none")
        return self.tabs(programs, parts)

    def code(self, side: str, section: str) -> str:
        """A section of one program, which has no counterpart in the other, with what it printed."""
        return self.block(*self.program(side, section))

    def output(self, side: str, section: str, run: str = "main") -> str:
        """What a section of a program printed."""
        return self.text(self.printed(side, section, run))

    def run(self, name: str) -> str:
        """What both programs printed in a run, with the command and the exit status, side by side or in tabs."""
        found, sides = self.evaluated, {}
        for side in found.lesson.runs[name].statuses:
            module = {"pytorch": execute, "burn": capture}[side]
            result = self.side(side).run(name).result
            text = "\n".join(self.printed(side, section, name) for section in result.output)
            command = module.command(found.lesson, found.lesson.runs[name])
            status = f"{self.word('exit status')}: `{result.status}`"
            shown = self.listing(text, fence("text", text, command))
            sides[side] = tuple(f"{block}\n\n{status}" for block in (shown, fence("text", text, command)))
        return self.tabs(sides)

    def files(self, side: str, folder: str) -> str:
        """The files that a program left below `folder`, with their sizes in bytes."""
        sizes = self.side(side).result.sizes
        found = {path: size for path, size in sizes.items() if path.startswith(f"{folder}/")}
        if not found:
            raise self.stop(f"{SIDES[side]} left no file in {folder!r}", f"it left {', '.join(sizes) or 'none'}")
        width = len(str(max(found.values())))
        return self.text("\n".join(f"{size:>{width}}  {path}" for path, size in found.items()))

    def file(self, side: str, path: str) -> str:
        """The text of a file that a program left and that Cargo.toml keeps."""
        texts = self.side(side).result.texts
        if path not in texts:
            raise self.stop(
                f"{SIDES[side]} left no text {path!r}", "add it to [package.metadata.files] keep, make capture"
            )
        return self.text(texts[path].rstrip("\n"), path)

    def comparison(self, name: str, *only: str) -> str:
        """What the comparison prints; with patterns in `only`, of the lines those whose names match one."""
        _, comparison = self.stated("comparison", self.evaluated.agreements, name)
        command = f"python -m scripts.compare {self.evaluated.lesson.name}"
        return self.text(comparison.text(only or ("*",)), command)

    def table(self, name: str) -> str:
        """A table of the lesson's claims.py."""
        header, rows = self.stated("table", self.evaluated.tables, name)
        return self.block(markdown_table(header[self.language], rows, align="right"))

    def plot(self, name: str) -> str:
        """A plot of the lesson's claims.py."""
        said, data = self.stated("plot", self.evaluated.plots, name)
        try:
            return self.block(plots.draw(said[self.language], data), f"*{said[self.language].title}*")
        except ValueError as error:
            mend = f"mend it in snippets/{self.evaluated.lesson.name}/claims.py"
            raise self.stop(f"the plot {name!r} can't be drawn: {error}", mend) from error

    # Links

    def towards(self, source: str) -> str:
        """The link from this page to another page's source, as Markdown has it: relative, without language."""
        folders = len(PurePosixPath(self.source).parts) - 1
        return "../" * folders + source.replace(f".{self.language}.md", ".md")

    def link(self, source: str, anchor: str = "") -> str:
        """A link from this page to another page's source, with the other page's title."""
        return f"[{shelf.title(source)}]({self.towards(source)}{anchor})"

    @property
    def root(self) -> str:
        """The link from this page to the site's root."""
        return "../" * shelf.address(self.source).count("/")

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

    def stated(self, kind: str, there: dict, name: str):
        """What the lesson's claims.py has under `name`, one of the claims, comparisons, tables or plots `there`."""
        if name not in there:
            mend = f"add it to snippets/{self.evaluated.lesson.name}/claims.py"
            raise self.stop(f"no {kind} is named {name!r}", mend)
        self.used.add((kind, name))
        return there[name]

    def program(self, side: str, section: str) -> tuple[str, str]:
        """A section's code, where it comes from, and what the plain run printed there, if anything; and the same plain."""
        result, lesson = self.side(side).result, self.evaluated.lesson
        sections = lesson.sections(side)
        if section not in sections:
            where = lesson.where(side)
            raise self.stop(f"{where} has no section {section!r}", f"mark it there; it has {', '.join(sections)}")
        self.used.add(("code", side, section))
        code = fence(FENCES[side], sections[section])
        shown, plain = [self.origin(side), code], [code]
        if section in result.output:
            text = self.printed(side, section)
            printed = fence("text", text)
            plain.append(printed)
            if side == "pytorch":
                options = f'exec="1" result="text" id="{lesson.name}/{section}"'
                printed = fence(FENCES[side], sections[section], options=options)
            shown.append(self.listing(text, printed))
        return "\n\n".join(shown), "\n\n".join(plain)

    def origin(self, side: str) -> str:
        """Above a piece of code: the program that it comes from, to open, the link to how to run it, and a copy button."""
        lesson = self.evaluated.lesson
        file = f'<a href="{self.root}downloads/{lesson.name}/{SIDES[side]}">{lesson.name}/{SIDES[side]}</a>'
        again = f'<a href="{self.receipt_page()}#repeat">{self.word("repeat")}</a>'
        copy = f'<button type="button" class="copy" data-done="{self.word("copied")}">{self.word("copy")}</button>'
        return f'<span class="origin">{file} {again} {copy}</span>'

    def text(self, text: str, title: str = "") -> str:
        """A block with what a program or a comparison printed."""
        block = fence("text", text, title)
        return self.block(self.listing(text, block), block)

    def listing(self, text: str, block: str) -> str:
        return listing(text, block, self.word("unfold"))

    def tabs(self, blocks: dict[str, tuple[str, str]], parts: dict[str, dict[str, list[range]]] | None = None) -> str:
        shown = [f'=== "{LABELS[side]}"\n\n{indent(block)}' for side, (block, _) in blocks.items()]
        plain = [f"**{LABELS[side]}**\n\n{block}" for side, (_, block) in blocks.items()]
        kind = "pair" if len(blocks) == len(SIDES) else "pair alone"
        lines = {
            side: {name: list(map(list, map(ends, at))) for name, at in (parts or {}).get(side, {}).items()}
            for side in blocks
        }
        told = escape(json.dumps(list(lines.values()), separators=(",", ":"))) if any(lines.values()) else ""
        mark = f' data-parts="{told}"' if told else ""
        opening = f'<div class="{kind}"{mark} markdown="1">'
        return self.block("\n\n".join([opening, *shown, "</div>"]), "\n\n".join(plain))


def ends(lines: range) -> tuple[int, int]:
    return lines.start, lines.stop
