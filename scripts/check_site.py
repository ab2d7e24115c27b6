"""Check the built site: nothing missing, empty, left over, in the wrong language, linked to nowhere or from elsewhere.

`python -m scripts.check_site [site]` prints the problems.
"""

import json
import re
import sys
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlparse

import lxml.html

from scripts.lessons import ROOT
from scripts.problems import Problem, Stop

HAN = re.compile(r"[\u4e00-\u9fff]")
LEFT_OVER = re.compile(r"\{\{|\}\}|\{%|[\ue000\ue001]|--8<--|^\s*(?:!!!|\?\?\?|===) |^\s*```", re.MULTILINE)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
LOADED_LINKS = {"stylesheet", "preconnect", "dns-prefetch", "preload", "icon", "manifest", "modulepreload"}
FOREIGN = re.compile(r"""(?:url\(|@import\s*)["']?(?:https?:)?//""")
ANNOTATION = re.compile(r"(?:#|//) *\(\d+\)!?\s*$", re.MULTILINE)
MEND = "make site"


class Built:
    """A built page: `path` is relative to the site."""

    def __init__(self, site: Path, path: str):
        self.path = path
        self.text = (site / path).read_text()
        self.tree = lxml.html.document_fromstring(self.text)

    @property
    def language(self) -> str:
        return "en" if self.path.startswith("en/") else "zh"

    @property
    def twin(self) -> str:
        """The path of the same page in the other language."""
        return self.path.removeprefix("en/") if self.language == "en" else f"en/{self.path}"

    @cached_property
    def article(self):
        return next(iter(self.tree.cssselect("article")), self.tree)

    @cached_property
    def ids(self) -> list[str]:
        return [element.get("id") for element in self.tree.iter() if isinstance(element.tag, str) and element.get("id")]

    @cached_property
    def code(self) -> list[str]:
        """The text of every code block: programs and outputs, which no language changes."""
        return [block.text_content() for block in self.article.cssselect("pre > code")]

    @cached_property
    def prose(self) -> str:
        """What is read of the article: without code, diagrams and the names of languages."""
        skipped = {"pre", "code", "svg", "script", "style"}

        def walk(element) -> str:
            if not isinstance(element.tag, str) or element.tag in skipped:
                return " " + (element.tail or "")
            inside = (element.text or "") + "".join(walk(child) for child in element)
            return (" " if element.get("lang") else inside) + (element.tail or "")

        return walk(self.article)

    def targets(self) -> list[str]:
        return [element.get("href") for element in self.tree.cssselect("a[href]")]


def check(site: Path, base: str = "/") -> list[Problem]:
    """Every problem of the site in the folder `site`, which is served below the path `base`."""
    pages = {path.relative_to(site).as_posix(): None for path in sorted(site.rglob("*.html"))}
    raw = [path for path in pages if not (site / path).read_text().lstrip().lower().startswith("<!doctype html")]
    if raw:
        return [Problem(f"site/{path}", "it is no page: a file was copied there unrendered", MEND) for path in raw]
    pages = {path: Built(site, path) for path in pages}
    if not any(page.language == "zh" for page in pages.values()) or "index.html" not in pages:
        return [Problem("site", "there is no page in it", MEND)]
    problems = [problem for page in pages.values() for problem in check_page(page, pages, site, base)]
    return problems + check_styles(site) + check_search(site, pages)


def check_page(page: Built, pages: dict[str, Built], site: Path, base: str) -> list[Problem]:
    found = []

    def problem(what: str, mend: str = MEND) -> None:
        found.append(Problem(f"site/{page.path}", what, mend))

    twin = pages.get(page.twin)
    if page.path == "404.html":
        twin = page
    if twin is None:
        problem(f"its twin {page.twin} is missing", "write the page in both languages")
    elif page.language == "en" and twin.code != page.code:
        first = next((pair for pair in zip(twin.code, page.code) if pair[0] != pair[1]), ("", ""))
        what = f"{len(twin.code)} code blocks in zh, {len(page.code)} in en; the first that differ begin"
        problem(f"{what} {first[0][:80]!r} and {first[1][:80]!r}")
    lang = page.tree.get("lang", "")
    if page.path != "404.html" and not lang.startswith(page.language):
        problem(f"its lang is {lang!r}, not {page.language!r}")
    if page.path != "404.html":
        han = len(HAN.findall(page.prose))
        if page.language == "en" and han:
            problem(f"the English page has Chinese in it: {HAN.search(page.prose).group()!r}", "translate it")
        if page.language == "zh" and han < 50:
            problem(f"the Chinese page has {han} Chinese characters", "write it")
        if len(page.article.cssselect("h1")) != 1:
            problem("it does not have exactly one h1")
    if not (page.tree.findtext("head/title") or "").strip():
        problem("it has no title")
    if match := LEFT_OVER.search(page.prose):
        problem(f"markup is left over in the text: {match.group().strip()!r}", "mend the Markdown around it")
    if match := CONTROL.search(page.text):
        problem(f"it has a control character, {match.group()!r}", "print without colours")
    for block in page.code:
        if not block.strip():
            problem("it has an empty code block", "print something, or remove the block")
        if match := ANNOTATION.search(block):
            problem(f"a code annotation has no text: {match.group()}", "say it in the prose of each language")
    doubled = {name for name in page.ids if page.ids.count(name) > 1}
    if doubled:
        problem(f"ids are there twice: {', '.join(sorted(doubled))}")
    generated = [name for name in page.ids if re.fullmatch(r"_\d+", name)]
    if generated:
        problem(f"a heading has the generated id {generated[0]!r}", "give it one: ## Title { #name }")
    if page.tree.cssselect(".mermaid, pre > code.language-mermaid"):
        problem("a diagram is left to the browser", "make diagrams")
    for what in foreign(page):
        problem(f"it loads from elsewhere: {what}", "serve it from docs/assets")
    for target in page.targets():
        if what := broken(target, page, pages, site, base):
            problem(f"the link {target!r} goes nowhere: {what}", "mend the link")
    return found


def foreign(page: Built) -> list[str]:
    """What the page loads from another host by itself."""

    def elsewhere(url: str | None) -> bool:
        return bool(url and urlparse(url).netloc)

    loaded = [element.get(key) for tag, key in LOADED.items() for element in page.tree.iter(tag)]
    for element in page.tree.iter("link"):
        if LOADED_LINKS & set(element.get("rel", "").split()):
            loaded.append(element.get("href"))
    styles = [element.text_content() for element in page.tree.iter("style")]
    styles += [element.get("style") for element in page.tree.cssselect("[style]")]
    return [url for url in loaded if elsewhere(url)] + [style[:80] for style in styles if FOREIGN.search(style)]


def broken(target: str, page: Built, pages: dict[str, Built], site: Path, base: str) -> str:
    """Why a link within the site does not resolve, or an empty string."""
    url = urlparse(target)
    if url.scheme or url.netloc:
        return ""
    path, anchor = unquote(url.path), unquote(url.fragment)
    if not path:
        goal = page.path
    else:
        if path.startswith("/") and not path.startswith(base):
            return f"the site is served below {base}"
        start = site if path.startswith("/") else (site / page.path).parent
        file = (start / path.removeprefix(base).lstrip("/")).resolve()
        if file.is_dir():
            file /= "index.html"
        if not file.is_file():
            return "there is no such file"
        goal = file.relative_to(site.resolve()).as_posix()
    if anchor and goal in pages and anchor not in pages[goal].ids:
        return f"{goal} has no id {anchor!r}"
    return ""


def check_styles(site: Path) -> list[Problem]:
    """Style sheets that load from another host."""
    return [
        Problem(
            f"site/{path.relative_to(site).as_posix()}", "a style loads from elsewhere", "serve it from docs/assets"
        )
        for path in sorted(site.rglob("*.css"))
        if FOREIGN.search(path.read_text())
    ]


def check_search(site: Path, pages: dict[str, Built]) -> list[Problem]:
    """Whether the search index has every page, and Chinese cut into words that the separator splits."""
    indexes = {
        folder: json.loads((site / folder / "search" / "search_index.json").read_text()) for folder in ("", "en/")
    }
    there = {
        folder + entry["location"].partition("#")[0] for folder, index in indexes.items() for entry in index["docs"]
    }
    index = indexes[""]
    wanted = {path.removesuffix("index.html") for path in pages if path != "404.html"}
    found = [Problem("site/search", f"the index lacks the page {path!r}", MEND) for path in sorted(wanted - there)]
    if not re.search(index["config"]["separator"], "\u200b"):
        found.append(Problem("mkdocs.yml", "the search separator does not split Chinese words", "put \\u200b in it"))
    return found


def main() -> None:
    try:
        problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site"))
        if problems:
            raise Stop(*problems)
    except Stop as stop:
        sys.exit(str(stop))
    print("the site holds")


if __name__ == "__main__":
    main()
