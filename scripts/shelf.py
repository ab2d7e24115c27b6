"""The pages and lessons of the site as a whole: their order, titles and descriptions, their brain-teasers.

Everything is read from the sources of the pages; nothing is listed anywhere but in mkdocs.yml's nav.
"""

import re
import textwrap
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from mkdocs.utils.meta import get_data

from scripts import check_pages
from scripts.lessons import ROOT, lessons

TITLE = re.compile(r"^# (.+?)(?: \{ #[\w-]+ \})?$", re.MULTILINE)
CALLOUT = re.compile(r'^!!! important "(?P<title>.*)"\n(?P<body>(?:(?: {4}.*)?\n)+)', re.MULTILINE)
BLOCK = re.compile(r"\{\{[^{}]*\}\}")
TEASER = re.compile(r"\{\{ teaser\(\"([\w-]+)\"\) \}\}")


class Teaser(NamedTuple):
    """A brain-teaser: its id on its page, and its question, paragraphs that may call what their page may call."""

    id: str
    question: str


def pages(language: str) -> list[str]:
    """The sources of the pages in the order of nav, below docs/: `main-line/training-loop.zh.md`."""
    return [name.removesuffix(".md") + f".{language}.md" for name in check_pages.nav(ROOT)]


def lesson_pages(language: str) -> list[str]:
    """Those of lessons, in the order in which they are read."""
    names = {lesson.name for lesson in lessons()}
    return [source for source in pages(language) if stem(source) in names]


def stem(source: str) -> str:
    """The name of a page, which for a lesson's is the lesson's: `training-loop`."""
    return PurePosixPath(source).name.split(".")[0]


def address(source: str) -> str:
    """Where the page is published, below the site's root: `en/main-line/training-loop/`."""
    path, language = PurePosixPath(source), source.split(".")[-2]
    folders = [*(["en"] if language == "en" else []), *path.parent.parts]
    return "".join(f"{part}/" for part in [*folders, *([] if stem(source) == "index" else [stem(source)])])


@cache
def read(source: str) -> tuple[str, dict]:
    """The text of a page below its front matter, and what that says."""
    return get_data((ROOT / "docs" / source).read_text())


def forget() -> None:
    """Read every page anew from now on."""
    read.cache_clear()


def meta(source: str) -> dict:
    """The page's front matter; empty where there is none."""
    return read(source)[1]


def title(source: str) -> str:
    return TITLE.search(read(source)[0])[1]


def description(source: str) -> str:
    return meta(source).get("description", "")


def needs(source: str) -> list[str]:
    """The names of the lessons to read before the page."""
    return meta(source).get("needs", [])


def teasers(source: str) -> list[Teaser]:
    """The brain-teasers of a page, in its order."""
    found = []
    for callout in CALLOUT.finditer(read(source)[0] + "\n"):
        body = textwrap.dedent(callout["body"]).strip()
        said = [
            part
            for part in body.split("\n\n")
            if not BLOCK.fullmatch(part) and not part.startswith("- ") and "{{ teaser(" not in part
        ]
        found += [Teaser(id, "\n\n".join(said)) for id in TEASER.findall(body)]
    return found
