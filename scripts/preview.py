"""What `mkdocs serve` does on a change: it renders a changed page alone, and shows an error in the browser too.

mkdocs renders every page of every language on any change, and on an error goes on showing the page as it was.
"""

import html
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2
from mkdocs.commands.build import _build_page, _populate_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation

from scripts import checks, shelf
from scripts.lessons import ROOT
from scripts.problems import Stop

log = logging.getLogger("mkdocs.hooks.preview")
DOCS = ROOT / "docs"
SOURCES = ("docs", "lesson", "overrides", "scripts", "snippets")
BODY = re.compile(r"<body[^>]*>")
BANNER = (
    '<div role="alert" id="error" style="position:relative;z-index:99;padding:1rem;background:#7f1d1d;color:#fff">'
    '<pre style="margin:0;white-space:pre-wrap;font-size:.7rem">{error}</pre></div>'
)


@dataclass
class Built:
    """What the last whole build made for one language, as far as rendering one of its pages takes it."""

    config: MkDocsConfig
    files: Files | None = None
    nav: Navigation | None = None
    env: jinja2.Environment | None = None


built: dict[str, Built] = {}


def note(config: MkDocsConfig, **made) -> None:
    """Keep a part of the build of the language that is being built."""
    language = config.plugins["i18n"].current_language
    if "files" in made or language not in built:
        built[language] = Built(config)
    for name, part in made.items():
        setattr(built[language], name, part)


def stamps() -> dict[Path, int]:
    """When each source was last changed."""
    found = {ROOT / "mkdocs.yml": (ROOT / "mkdocs.yml").stat().st_mtime_ns}
    for name in SOURCES:
        for folder, folders, files in os.walk(ROOT / name):
            folders[:] = [inner for inner in folders if inner not in ("node_modules", "__pycache__")]
            found |= {Path(folder, file): os.stat(f"{folder}/{file}").st_mtime_ns for file in files}
    return found


class Preview:
    """Stands for mkdocs' builder, `whole`, which renders everything."""

    def __init__(self, whole: Callable[[], None], site: Path):
        self.whole, self.site = whole, site
        self.before = stamps()
        self.marked: dict[Path, str] = {}  # pages with an error on them, and what they were without

    def __call__(self) -> None:
        """Render what changed since the last call. An error goes to the log and onto the pages that it concerns."""
        before, self.before = self.before, stamps()
        changed = {path for path, stamp in (before.items() ^ self.before.items())}
        alone = self.alone(changed)
        for page, text in self.marked.items():
            page.write_text(text)
        self.marked.clear()
        try:
            if alone:
                checks.pages(alone)
                for source in alone:
                    render(source)
                log.info("rendered %s", ", ".join(alone))
            else:
                self.whole()
        except (Exception, SystemExit) as error:
            expected = isinstance(error, (Stop, BuildError, SystemExit))
            log.error("%s", error, exc_info=not expected)
            self.show(str(error) if expected else f"{type(error).__name__}: {error}", alone)

    def alone(self, changed: set[Path]) -> list[str]:
        """The pages to render, if that is enough: nothing else changed, and nothing of them that other pages show."""
        sources = [path.relative_to(DOCS).as_posix() for path in sorted(changed) if path.is_relative_to(DOCS)]
        if len(sources) < len(changed) or not all(source.endswith(".md") for source in sources):
            return []
        known = {source for language in built for source in shelf.pages(language)}
        if not known.issuperset(sources) or not all((DOCS / source).exists() for source in sources):
            return []
        shown = [told(source) for source in sources]
        shelf.forget()
        return sources if shown == [told(source) for source in sources] else []

    def show(self, error: str, sources: list[str]) -> None:
        """Put the error onto the pages of these sources, or if there are none, onto all."""
        pages = [self.site / shelf.address(source) / "index.html" for source in sources]
        banner = BANNER.format(error=html.escape(error))
        for page in pages or self.site.rglob("*.html"):
            if page.exists():
                text = self.marked[page] = page.read_text()
                page.write_text(BODY.sub(lambda body: body[0] + banner, text, count=1))


def told(source: str) -> tuple:
    """What other pages show of a page."""
    try:
        return shelf.title(source), shelf.meta(source), shelf.teasers(source)
    except (TypeError, ValueError, OSError) as error:
        return (str(error),)


def render(source: str) -> None:
    """Render one page into the site, as the last whole build would have; the search index stays as it is."""
    language = source.split(".")[-2]
    last = built[language]
    i18n = last.config.plugins["i18n"]
    i18n.current_language = language
    i18n.reconfigure_mkdocs_config(last.config)
    last.config.plugins["material/search"].config.enabled = False
    page = last.files.get_file_from_path(source).page
    _populate_page(page, last.config, last.files)
    _build_page(page, last.config, last.files.documentation_pages(), last.nav, last.env)
