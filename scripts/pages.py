"""What is known of a page's Markdown source: its elements in order, and its prose, each with its line in the file."""

import posixpath
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from scripts.pages_source import Masks
from scripts.problems import Problem

LANGUAGES = {"zh": "Chinese", "en": "English"}


class Fault(NamedTuple):
    """What is wrong at a line of a file, or at an offset of a text."""

    at: int
    what: str
    mend: str


@dataclass(frozen=True)
class Element:
    """One thing that both languages of a page must have in the same place.

    Elements are equal when they are of the same `kind`, `shown` the same, `inside` the same containers.
    """

    kind: str
    shown: str = ""
    inside: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)
    excerpt: str = field(default="", compare=False)
    level: int = field(default=0, compare=False)  # of a heading, 1 to 6
    id: str | None = field(default=None, compare=False)  # of a heading
    functions: tuple[tuple[str, tuple], ...] = field(default=(), compare=False)  # of a macro call, as in Tag

    def __str__(self) -> str:
        words = [self.kind, f"`{self.shown}`" if self.shown else "", f"“{self.excerpt}”" if self.excerpt else ""]
        return " ".join(filter(None, words)) + "".join(f", in {container}" for container in reversed(self.inside))


class Prose(NamedTuple):
    """A text and its first line. `kind` is paragraph, heading, table row, callout title, diagram label, …"""

    kind: str
    line: int
    text: str


@dataclass
class Page:
    """One Markdown source. `path` is from the repository's root, `name` from docs/ without language (`index.md`).

    In `prose`, calls and code spans are masked (`masks`), targets of links, tags and attribute lists left out.
    If `broken`, the source could not be read and `faults` says why.
    """

    path: str
    name: str
    language: str
    lines: list[str] = field(default_factory=list)
    masks: Masks = field(default_factory=Masks)
    elements: list[Element] = field(default_factory=list)
    prose: list[Prose] = field(default_factory=list)
    codes: list[Prose] = field(default_factory=list)  # code spans
    html: list[Prose] = field(default_factory=list)  # tags, comments, attribute lists
    ids: list[tuple[str, int]] = field(default_factory=list)  # every id and its line
    meta: dict = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    broken: bool = False

    def calls(self, function: str) -> list[tuple[int, Element, tuple]]:
        """Each call of a macro: its index in `elements`, its element, its constant arguments."""
        return [(i, e, args) for i, e in enumerate(self.elements) for name, args in e.functions if name == function]

    def section(self, index: int) -> list[Element]:
        """What follows the heading at `index` of `elements`, up to the next of the same or a higher level."""
        level, rest = self.elements[index].level, self.elements[index + 1 :]
        return rest[: next((i for i, e in enumerate(rest) if 0 < e.level <= level), len(rest))]

    def problem(self, line: int, what: str, mend: str) -> Problem:
        """A problem at a line of this page; `what` may hold masks."""
        return Problem(f"{self.path}:{line}", self.masks.shown(what), mend)


@dataclass
class Site:
    """All pages of a repository: by name and language; and of each lesson, the texts that its code may come from."""

    root: Path
    pages: dict[str, dict[str, Page]] = field(default_factory=lambda: defaultdict(dict))
    sources: dict[str, list[str]] = field(default_factory=dict)  # with single spaces for all white space

    def is_lesson(self, page: Page) -> bool:
        """A page that is named as a folder of snippets/."""
        return posixpath.basename(page.name).removesuffix(".md") in self.sources

    def programs(self, page: Page) -> list[str]:
        """The texts of the page's lesson; for a page that is no lesson, of all lessons."""
        if self.is_lesson(page):
            return self.sources[posixpath.basename(page.name).removesuffix(".md")]
        return [text for texts in self.sources.values() for text in texts]
