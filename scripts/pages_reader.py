"""Read a page: walk over the blocks of its Markdown source, and note its elements, its prose and its faults."""

import html
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import yaml
from jinja2 import TemplateSyntaxError
from markdown_it.token import Token

from scripts import pages_mermaid
from scripts.pages import Fault, Page
from scripts.pages_inline import ATTRS, InlineReader
from scripts.pages_source import MASK, MASKS, tokens

HEADING_ATTRS = re.compile(ATTRS.pattern + r"\s*$")
SAYING = re.compile(rf"[\w{MASKS}]")  # in a text without its calls: it says something
# The beginnings of lines that were meant as something else than a paragraph.
BROKEN = {
    re.compile(r"!!!|\?\?\?"): 'write a callout as `!!! note "title"`, its content indented by 4 spaces',
    re.compile(r"==="): 'write a content tab as `=== "title"`, its content indented by 4 spaces',
    re.compile(r"#{1,6}(?![\s#])"): "write a heading as `## Text { #id }`, with a space after `##`",
    re.compile(r"\|?\s*:?-{3,}:?\s*\|"): "give each row of the table as many cells as its head",
}


def read(path: Path, root: Path) -> Page:
    """The page at `path`, which is named `….zh.md` or `….en.md` and lies under docs/ of the repository `root`."""
    name, language, _ = path.relative_to(root / "docs").as_posix().rsplit(".", 2)
    page = Page(path.relative_to(root).as_posix(), f"{name}.md", language)
    try:
        text = path.read_text(encoding="utf-8-sig")
        page.lines = text.split("\n")
        masked = page.masks.mask(text)
    except UnicodeDecodeError as error:
        page.faults.append(Fault(1, f"the page is not UTF-8 ({error.reason})", "save it as UTF-8"))
        page.broken = True
    except TemplateSyntaxError as error:
        what = f"Jinja can't read the page: {error.message}"
        page.faults.append(Fault(error.lineno, what, "write the call as Jinja reads it"))
        page.broken = True
    else:
        Reader(page).read(tokens(masked))
    return page


def held(page_tokens: list[Token], index: int) -> Iterator[Token]:
    """The tokens between the opening one at `index` and its closing one."""
    level = page_tokens[index].level
    return takewhile(lambda token: token.level > level, page_tokens[index + 1 :])


class Reader(InlineReader):
    """Walks over the tokens of one page and fills it."""

    def __init__(self, page: Page):
        super().__init__(page)
        self.calls = dict.fromkeys(map(ord, page.masks.tags))
        self.items: list[tuple[int, int, int]] = []  # of each open list item: level of its token, line, column
        self.row, self.cells = 0, []
        self.footnotes: dict[str, int] = {}

    def read(self, page_tokens: list[Token]) -> None:
        for i, token in enumerate(page_tokens):
            line = token.map[0] + 1 if token.map else 0
            kind, _, end = token.type.rpartition("_")
            if token.map and token.type != "inline":
                self.indentation(token, page_tokens[i - 1].type, line)
            if token.type == "inline":
                self.block(token, page_tokens[i - 1], line)
            elif token.type in ("fence", "code_block", "html_block", "front_matter"):
                getattr(self, token.type)(token, line)
            elif end == "open":
                self.open(kind, page_tokens, i, line)
            elif end == "close":
                self.close(kind, token)
        self.tags("".join(self.unseen))  # what is left, say in the definition of a link
        for label in self.footnotes.keys() - self.references:
            self.fault(self.footnotes[label], f"nothing refers to the footnote [^{label}]", "refer to it, or remove it")

    def indentation(self, token: Token, before: str, line: int) -> None:
        """What CommonMark takes for a list, a table or a part of a list item, but Python-Markdown does not."""

        def column(number: int) -> int:
            return re.match("[ >]*", self.page.lines[number - 1]).end()

        in_item = self.items and token.level == self.items[-1][0] + 1
        if in_item and line > self.items[-1][1] and column(line) < self.items[-1][2] + 4:
            self.fault(line, "what belongs to a list item is not indented enough", "indent it by 4 spaces")
        starts = token.type in ("bullet_list_open", "ordered_list_open", "table_open")
        if starts and not in_item and before == "paragraph_close" and self.page.lines[line - 2].strip(" >"):
            what = f"the {token.type.split('_')[-2]} follows a paragraph at once and would be a part of it"
            self.fault(line, what, "put an empty line before it")
        if token.type == "list_item_open":
            self.items.append((token.level, line, column(line)))

    def open(self, kind: str, page_tokens: list[Token], index: int, line: int) -> None:
        token = page_tokens[index]
        match kind:
            case "container":
                self.add(token.info, token.markup, line)
                if token.meta["empty"]:
                    self.fault(line, f"the {token.info} is empty", "indent its content by 4 spaces, or remove it")
                if token.info == "callout" and token.meta["title"] is None and self.page.language == "zh":
                    self.fault(line, "the callout has no title and would show its English type", "give it a title")
                self.inside.append(f"`{token.markup}`")
            case "bullet_list" | "ordered_list":
                inner = held(page_tokens, index)
                items = sum((t.type, t.level) == ("list_item_open", token.level + 1) for t in inner)
                self.add(kind.replace("_", " "), f"{items} item{'s' * (items != 1)}", line)
                self.inside.append("list")
            case "list_item" | "blockquote" | "dl":
                self.add(kind.replace("_", " "), "", line)
                self.inside.append(kind.replace("_", " "))
            case "table":
                inner = [t.type for t in held(page_tokens, index)]
                self.row = 0
                self.add("table", f"{inner.count('tr_open')} rows × {inner.count('th_open')} columns", line)
                self.inside.append("table")
            case "tr":
                self.row, self.cells = self.row + 1, []
                self.row_line = line
            case "th" | "td":
                self.inside.append(f"row {self.row}, cell {len(self.cells) + 1}")
            case "footnote_reference":
                self.add("footnote", f"[^{token.meta['label']}]:", line)
                self.footnotes[token.meta["label"]] = line
                self.inside.append("footnote")

    def close(self, kind: str, token: Token) -> None:
        containers = "container bullet_list ordered_list list_item blockquote dl table th td footnote_reference"
        if kind in containers.split():
            self.inside.pop()
        if kind == "list_item":
            self.items.pop()
        elif kind == "tr":
            self.say("table row", self.row_line, " | ".join(self.cells))

    def block(self, token: Token, opening: Token, line: int) -> None:
        """The text of a heading, paragraph, cell, title or term; the element goes before those in its text."""
        at = len(self.page.elements)
        text = self.inline(token, line)
        excerpt = " ".join(self.page.masks.shown(text).split())[:30]
        match opening.type:
            case "heading_open":
                attributes = HEADING_ATTRS.search(token.content)
                id = next((a[1:] for a in attributes[1].split() if a[0] == "#"), None) if attributes else None
                level = int(opening.tag[1])
                shown = "#" * level + (f" … {{ #{id} }}" if id else "")
                self.add("heading", shown, line, at, excerpt=excerpt, level=level, id=id)
                self.say("heading", line, text)
            case "paragraph_open":
                for row, written in enumerate(token.content.split("\n")):
                    for pattern, mend in BROKEN.items():
                        if pattern.match(written.strip()):
                            self.fault(line + row, f"Markdown does not know this line: {written.strip()}", mend)
                if SAYING.search(text.translate(self.calls)):
                    self.add("paragraph", "", line, at, excerpt=excerpt)
                self.say("paragraph", line, text)
            case "th_open" | "td_open":
                self.cells.append(text)
            case "container_open":
                self.say(f"{opening.info} title", line, text)
            case "dt_open":
                self.add("term", "", line, at, excerpt=excerpt)
                self.say("term", line, text)

    def front_matter(self, token: Token, line: int) -> None:
        self.tags(token.content)
        if MASK.search(token.content):
            self.fault(line, "a Jinja tag in the front matter is never run", "write it out")
        try:
            self.page.meta = yaml.safe_load(token.content) or {}
            if not isinstance(self.page.meta, dict):
                raise yaml.YAMLError("no mapping")
        except yaml.YAMLError as error:
            self.page.meta = {}
            self.fault(line, f"the front matter is no YAML: {' '.join(str(error).split())}", "write `key: value`")
        for row, written in enumerate(token.content.split("\n")):
            key = written.partition(":")[0].strip()
            if key in ("title", "description") and isinstance(self.page.meta.get(key), str):
                self.say(key, line + 1 + row, self.page.meta[key])

    def fence(self, token: Token, line: int) -> None:
        info = token.info.strip()
        self.add("fenced block", info or "without language", line)
        last = self.page.lines[token.map[1] - 1].strip(" >\t")
        if token.map[1] == line or not re.fullmatch(rf"{re.escape(token.markup)}+", last):
            self.fault(line, f"the fence {token.markup}{info} is never closed", f"close it with {token.markup}")
        if info == "mermaid":
            self.inside.append("mermaid")
            for statement in pages_mermaid.statements(token.content):
                at = line + 1 + statement.line
                self.add("diagram line", statement.skeleton, at)
                for label in statement.labels:
                    self.say("diagram label", at, label)
            self.tags(token.content)
            self.inside.pop()
        self.tags(token.content)

    def code_block(self, token: Token, line: int) -> None:
        self.add("indented code", "", line, excerpt=token.content.strip().split("\n")[0])
        self.tags(token.content)

    def html_block(self, token: Token, line: int) -> None:
        self.say("HTML text", line, html.unescape(self.words(self.markup(token.content, line), line)))
