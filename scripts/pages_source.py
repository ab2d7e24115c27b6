"""From the Markdown source of a page to Markdown tokens: masks Jinja, and knows callouts and content tabs.

Each Jinja tag becomes one private-use character, its mask, so that it neither disturbs the Markdown nor counts as text,
and every line stays where it is.
"""

import re
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, TemplateSyntaxError, nodes
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

MASKS = "\U000f0000-\U000ffffc"  # for a character class
MASK = re.compile(f"[{MASKS}]")
FILL = "\U000ffffd"  # stands on the further lines of a tag that has several
JINJA = Environment(keep_trailing_newline=True, comment_start_string="{##", comment_end_string="##}")  # as mkdocs.yml
CONTAINER = re.compile(
    r'(?:(?P<mark>!!!|\?\?\?\+?) ?(?P<type>[a-z][\w-]*(?: +(?:inline|end))*)|(?P<tab>===[!+]*)(?= *"))'
    r'(?: *"(?P<title>.*)")?\s*$',
    re.ASCII,
)


@dataclass(frozen=True)
class Tag:
    """A Jinja tag: `kind` is call (`{{ … }}`), statement (`{% … %}`) or comment; `code` has its white space normalised.

    `functions` are the function calls in it: (name, (constant positional arguments…)).
    """

    kind: str
    code: str
    line: int
    functions: tuple[tuple[str, tuple], ...] = ()


class Masks:
    """The private-use characters of one page, and what each stands for."""

    def __init__(self):
        self.sources: dict[str, str] = {}
        self.tags: dict[str, Tag] = {}

    def add(self, source: str) -> str:
        """A new character that stands for `source`."""
        mask = chr(ord(MASKS[0]) + len(self.sources))
        self.sources[mask] = source
        return mask

    def shown(self, text: str) -> str:
        """The text with every mask replaced by its source."""
        return MASK.sub(lambda match: self.sources.get(match[0], ""), text.replace(FILL, ""))

    def mask(self, text: str) -> str:
        """The text with each Jinja tag replaced by its mask. Raises TemplateSyntaxError where Jinja would."""
        if "{%" in text:
            JINJA.parse(text)  # statements belong together; an expression is parsed on its own
        out, raw, code, line, began = "", "", "", 1, 1
        for lineno, kind, value in JINJA.lex(text):
            if not raw:
                out, began = out + "\n" * (lineno - line), lineno  # the line ends that a `{{-` takes away
            line = lineno + value.count("\n")
            if kind == "data":
                out += value
                continue
            raw += value
            if kind not in ("variable_begin", "variable_end", "whitespace"):
                apart = " " if re.search(r"\w$", code) and re.match(r"\w", value) else ""
                code += ", " if value == "," else apart + value
            if kind.endswith("_end") or kind == "raw_begin":
                lead = re.match("[ >]*", out[out.rfind("\n") + 1 :])[0]
                out += self._tag(kind, raw, code, began) + f"\n{lead}{FILL}" * raw.count("\n")
                raw = code = ""
        if raw:
            raise TemplateSyntaxError("the tag is never closed", began)
        return out

    def _tag(self, kind: str, raw: str, code: str, line: int) -> str:
        mask = self.add(" ".join(raw.split()))
        if kind == "variable_end":
            try:
                self.tags[mask] = Tag("call", f"{{{{ {code} }}}}", line, functions(raw))
            except TemplateSyntaxError as error:
                raise TemplateSyntaxError(error.message, line) from error
        else:
            self.tags[mask] = Tag("comment" if kind == "comment_end" else "statement", " ".join(raw.split()), line)
        return mask


@cache
def functions(expression: str) -> tuple[tuple[str, tuple], ...]:
    """The function calls in a `{{ … }}`: (name, (constant positional arguments…))."""
    return tuple(
        (call.node.name, tuple(arg.value for arg in call.args if isinstance(arg, nodes.Const)))
        for call in JINJA.parse(expression).find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
    )


def container(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The block rule of callouts (`!!!`, `???`) and content tabs (`===`): they hold the lines 4 columns deeper."""
    match = CONTAINER.match(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    if not match or state.is_code_block(start):
        return False
    if silent:
        return True
    indent, stop = state.sCount[start] + 4, start + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= indent):
        stop += 1
    opening = state.push("container_open", "div", 1)
    opening.map, opening.info = [start, stop], "content tab" if match["tab"] else "callout"
    opening.markup = f'=== "{match["title"]}"' if match["tab"] else f"{match['mark']} {' '.join(match['type'].split())}"
    opening.meta = {"title": match["title"], "empty": all(map(state.isEmpty, range(start + 1, stop)))}
    title = state.push("inline", "", 0)
    title.content, title.map, title.children = match["title"] or "", [start, start + 1], []
    outer = state.parentType, state.lineMax, state.blkIndent
    state.parentType, state.lineMax, state.blkIndent = "container", stop, indent
    state.md.block.tokenize(state, start + 1, stop)
    state.parentType, state.lineMax, state.blkIndent = outer
    state.push("container_close", "div", -1)
    state.line = stop
    return True


def parser() -> MarkdownIt:
    """A Markdown parser that keeps link targets as they are written, and footnotes where they are written."""
    md = MarkdownIt("commonmark").enable("table")
    md.use(front_matter_plugin).use(footnote_plugin).use(deflist_plugin)
    md.disable(["footnote_tail", "footnote_inline"])
    md.normalizeLink = lambda url: url
    md.validateLink = lambda url: True
    md.block.ruler.before("fence", "container", container, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return md


def tokens(masked: str) -> list[Token]:
    """The Markdown tokens of a page whose Jinja tags are masked."""
    return PARSER.parse(masked)


PARSER = parser()
