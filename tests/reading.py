"""What the tests in a browser share: the site's pages, and a reader of them."""

import itertools
import re
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Response, Route, expect

from scripts.diagrams import DOCS
from scripts.lessons import SNIPPETS

ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
FOLDERS = {"zh": "/", "en": "/en/"}
SCREENS = {"wide": {"width": 1500, "height": 1000}, "phone": {"width": 390, "height": 844}}
PATIENCE = 15_000  # milliseconds, of a machine that may be busy
FIRST = 3  # results of a search that a reader looks at

HEADING = re.compile(r"^#{1,3} (.+?) \{ #[\w-]+ \}$", re.MULTILINE)
PROSE = re.compile(r"^(?![#`|!> ]).*$", re.MULTILINE)
HAN = re.compile(r"[\u4e00-\u9fff]+")
SYMBOLS = [r"\b[a-z]+(?:_[a-z]+)+\b", r"\b[a-z]+\.[A-Z]\w+", r"\b(?:[A-Z][a-z]+){2,}\b"]


def address_below(folder: Path, source: Path) -> str:
    """Where the page of a source is served, below its language's folder: `part/name/`, or `` for the first page."""
    name = source.name.removesuffix(".zh.md")
    place = source.parent if name == "index" else source.parent / name
    return "".join(f"{part}/" for part in place.relative_to(folder).parts)


SOURCES = {address_below(DOCS, source): source for source in sorted(DOCS.rglob("*.zh.md"))}
PAGES = list(SOURCES)
LESSONS = [page for page in PAGES if Path(page).name in {folder.name for folder in SNIPPETS.iterdir()}]


def calling(call: str) -> list[str]:
    """The pages that call this in their expressions."""
    return [page for page in PAGES if re.search(rf"{{{{.*\b{call}\(", SOURCES[page].read_text())]


PAIRED = calling("pair")
every_language = pytest.mark.parametrize("language", FOLDERS)
every_paired_page = pytest.mark.parametrize("path", PAIRED, ids=lambda path: path.strip("/") or "home")
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.strip("/"))


class Place(NamedTuple):
    """A page on a screen."""

    language: str
    screen: str
    path: str

    def __str__(self) -> str:
        return f"{self.language}-{self.screen}-{self.path.strip('/') or 'home'}"


def places(paths: Iterable[str] = PAGES, languages: Iterable[str] = FOLDERS, screens: Iterable[str] = SCREENS):
    """Run a test for each of these pages, which the fixture `opened` opens once for all tests that want it."""
    values = [Place(*place) for place in itertools.product(languages, screens, paths)]
    return pytest.mark.parametrize("opened", values, ids=str, indirect=True)


class Reader:
    """Somebody who reads the site in a window of the browser.

    `faults` is what the browser complained of so far: errors and warnings in the console, errors of scripts, requests
    that failed or went to another host than the site's (these are refused). `language` and `path` are those of the page
    that was opened last.
    """

    language = path = ""

    def __init__(self, browser: Browser, server: str, **options):
        self.server = server
        self.faults: list[str] = []
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        self.context.route(re.compile(rf"^(?!{re.escape(server)}/)"), self.refuse)
        self.context.on("console", self.note_message)
        self.context.on("weberror", lambda error: self.faults.append(f"error of a script: {error.error}"))
        self.context.on("requestfailed", lambda request: self.faults.append(f"failed: {request.url} {request.failure}"))
        self.context.on("response", self.note_response)
        self.page = self.context.new_page()

    def begin(self, screen: str, scheme: str = "light") -> "Reader":
        """The same window on this screen, as if nothing had been read in it; much quicker than a new one."""
        self.page.goto("about:blank")
        storage = {"origin": self.server, "storageTypes": "all"}
        self.context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", storage)
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(SCREENS[screen])
        self.page.emulate_media(color_scheme=scheme)
        self.faults.clear()
        return self

    def refuse(self, route: Route) -> None:
        self.faults.append(f"request to another host: {route.request.url}")
        route.abort()

    def note_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text} ({message.location['url']})")

    def note_response(self, response: Response) -> None:
        if response.status >= HTTPStatus.BAD_REQUEST:
            self.faults.append(f"status {response.status}: {response.url}")

    def open(self, language: str, path: str) -> Page:
        """Open a page and wait until its scripts are done."""
        self.language, self.path = language, path
        response = self.page.goto(address(self.server, language, path))
        assert response.ok, f"{response.url}: {response.status}"
        laid_out(self.page)
        return self.page

    def at(self, language: str, path: str) -> None:
        """Wait until the page is this one."""
        self.page.wait_for_url(re.compile(rf"^{re.escape(address(self.server, language, path))}($|[?#])"))
        laid_out(self.page)


def laid_out(page: Page) -> None:
    """Wait until all of the page is laid out, and stands where it will stand."""
    if "js" in page.locator("html").get_attribute("class").split():
        expect(page.locator(".stretch:not(.done)")).to_have_count(0, timeout=PATIENCE)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def address(server: str, language: str, path: str) -> str:
    return f"{server}{FOLDERS[language]}{path}"


def source(language: str, path: str) -> Path:
    return SOURCES[path].with_name(SOURCES[path].name.replace(".zh.md", f".{language}.md"))


def markdown(language: str, path: str) -> str:
    """What a page's source says below its front matter."""
    return re.sub(r"\A---\n.*?\n---\n", "", source(language, path).read_text(), flags=re.DOTALL)


def assert_in_sight(target: Locator) -> None:
    """On the screen, with nothing over it, such as the header."""
    expect(target).to_be_in_viewport(ratio=1)
    covered = """element => {
        const box = element.getBoundingClientRect()
        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
        return element.contains(top) ? "" : `${top?.outerHTML}`.slice(0, 80)
    }"""
    assert not (over := target.evaluate(covered)), f"{target} is covered by {over}"


def unfold(page: Page) -> None:
    """Open every folded box of the page, as a reader does."""
    for box in page.locator("article details").all():
        if box.get_attribute("open") is None:
            box.locator("> summary").click()


def switch_language(page: Page, language: str) -> None:
    page.locator(".md-select > button").click()
    link = page.locator(f".md-select__link[hreflang={language}]")
    # Pressed while the menu still opens, the link would not be hit, and Playwright would scroll the page to reach it.
    opening = (
        "link => Promise.allSettled(link.closest('.md-select').getAnimations({ subtree: true }).map(a => a.finished))"
    )
    link.evaluate(opening)
    link.click(force=True)  # at once: the press has to hit it, or nothing happens
