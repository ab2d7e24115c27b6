"""Read what is within the blocks of a page: text, code spans, links, images, tags, attribute lists, macro calls."""

import re

from markdown_it.token import Token

from scripts.pages import Element, Fault, Page, Prose
from scripts.pages_source import FILL, MASK

VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s{}\"']+)"
ATTR = rf"(?:[#.][^\s{{}}]+|[\w-]+={VALUE})"
ATTRS = re.compile(rf"[ \t]*\{{:?[ ]*({ATTR}(?:[ ]+{ATTR})*)[ ]*\}}")  # an attribute list, `{ #id .class key="value" }`
ICON = re.compile(r":[a-z][\w+-]*:", re.ASCII)
URL = re.compile(r"https?://[^\s)>\u0080-\U0010ffff]+")
TAG = re.compile(r"<!--.*?-->|<(/?[a-zA-Z][\w-]*)[^>]*>", re.DOTALL)
LANGUAGE_NAMES = {"中文", "简体中文", "English"}  # what a link to the other language may be called


class InlineReader:
    """Fills a page with what it is given of it."""

    def __init__(self, page: Page):
        tags = page.masks.tags
        self.page = page
        self.inside: list[str] = []  # the open containers
        self.unseen = {mask: tag for mask, tag in tags.items() if tag.kind != "comment"}
        self.statements = {ord(mask): None for mask, tag in tags.items() if tag.kind != "call"}
        self.references: set[str] = set()  # to footnotes

    def add(self, kind: str, shown: str, line: int, at: int | None = None, **more) -> None:
        element = Element(kind, self.page.masks.shown(shown), tuple(self.inside), line, **more)
        self.page.elements.insert(len(self.page.elements) if at is None else at, element)

    def say(self, kind: str, line: int, text: str) -> None:
        if text.strip():
            self.page.prose.append(Prose(kind, line, text))

    def fault(self, line: int, what: str, mend: str) -> None:
        self.page.faults.append(Fault(line, what, mend))

    def tags(self, text: str) -> None:
        """Add the Jinja tags whose masks are in `text`."""
        for tag in filter(None, (self.unseen.pop(mask, None) for mask in MASK.findall(text))):
            kind = "macro call" if tag.kind == "call" else "Jinja statement"
            self.add(kind, tag.code, tag.line, functions=tag.functions)

    def markup(self, text: str, line: int) -> str:
        """The text without its HTML tags, which are noted."""
        names = []

        def drop(match: re.Match) -> str:
            at = line + text.count("\n", 0, match.start())
            self.page.html.append(Prose("tag", at, match[0]))
            self.page.ids.extend((id, at) for id in re.findall(r"""\sid=["']?([^\s"'>]+)""", match[0]))
            names.extend(filter(None, [match[1]]))
            return "\n" * match[0].count("\n")

        said = TAG.sub(drop, text)
        if names:
            self.add("HTML", " ".join(f"<{name}>" for name in names), line)
        return said

    def words(self, text: str, line: int) -> str:
        """The text without attribute lists, icons, bare addresses and Jinja statements."""
        self.tags(text)

        def drop(match: re.Match) -> str:
            self.page.html.append(Prose("attributes", line, match[0]))
            self.page.ids.extend((a[1:], line) for a in match[1].split() if a[0] == "#")
            return ""

        for label in re.findall(r"\[\^[^\]\s]+\]", text):
            self.fault(line, f"the footnote {label} is not defined", f"define it: `{label}: …`")
        text = URL.sub(" ", ICON.sub(" ", ATTRS.sub(drop, text.replace(FILL, ""))))
        return text.translate(self.statements)

    def inline(self, token: Token, line: int) -> str:
        """The text of an inline token, in which `\n` is where the source has a line's end."""
        lines, text, start = token.content.split("\n"), "", 0
        for child in token.children:
            row = text.count("\n")
            at, further = line + row, 0
            match child.type:
                case "text":
                    text += self.words(child.content, at)
                case "softbreak" | "hardbreak":
                    text += "\n"
                case "code_inline":
                    while child.content not in " ".join(lines[row : row + further + 1]) and row + further < len(lines):
                        further += 1  # a code span may be broken over lines
                    self.tags(child.content)
                    self.page.codes.append(Prose("code span", at, self.page.masks.shown(child.content)))
                    text += self.page.masks.add(f"`{self.page.masks.shown(child.content)}`") + "\n" * further
                case "html_inline":
                    text += self.markup(child.content, at)
                case "link_open":
                    self.target("link", child.attrs["href"], child, at)
                    start = len(text)
                case "link_close":
                    if child.markup == "autolink" or text[start:] in LANGUAGE_NAMES:
                        text = text[:start] + " "
                case "image":
                    self.target("image", child.attrs["src"], child, at)
                    self.say("alternative text", at, self.words(child.content, at))
                    text += " "
                case "footnote_ref":
                    self.add("footnote reference", f"[^{child.meta['label']}]", at)
                    self.references.add(child.meta["label"])
        return text

    def target(self, kind: str, target: str, child: Token, line: int) -> None:
        self.add(kind, target, line)
        self.tags(target + child.attrs.get("title", ""))
        self.say(f"title of the {kind}", line, child.attrs.get("title", ""))
