"""Check the Markdown sources of all pages: that both languages are there and in step, and the rules of each page.

Run as `python -m scripts.check_pages`.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

import yaml

from scripts import pages_rules
from scripts.pages import LANGUAGES, Page, Site
from scripts.pages_reader import read
from scripts.problems import Problem

ROOT = Path(__file__).resolve().parent.parent
MARKDOWN = {".md", ".markdown", ".mdown", ".mkdn", ".mkd"}  # what mkdocs takes for a page
PROGRAMS = ("pytorch.py", "burn.rs", "claims.py")


def load(root: Path) -> tuple[Site, list[Problem]]:
    """The pages and programs under `root`, and a problem for each page whose name has no language."""
    site, problems = Site(root), []
    for path in sorted((root / "docs").rglob("*")):
        inner = path.relative_to(root / "docs")
        if path.suffix.lower() not in MARKDOWN or not path.is_file() or any(part[0] == "." for part in inner.parts):
            continue
        if re.search(r"[^.]\.(zh|en)\.md$", path.name):
            page = unchanged(path, root, path.stat().st_mtime_ns)
            site.pages[page.name][page.language] = page
        else:
            what = "the page's name does not say its language"
            mend = "name it `….zh.md` or `….en.md`, or keep it outside docs/"
            problems.append(Problem(path.relative_to(root).as_posix(), what, mend))
    for folder in sorted(path for path in (root / "snippets").glob("*") if path.is_dir() and path.name[0] != "."):
        files = [folder / name for name in PROGRAMS] + sorted((folder / "captured").rglob("*"))
        texts = (path.read_text(encoding="utf-8", errors="ignore") for path in files if path.is_file())
        site.sources[folder.name] = [" ".join(text.split()) for text in texts]
    return site, problems


@cache
def unchanged(path: Path, root: Path, stamp: int) -> Page:
    """The page at `path`, read again only after it was changed."""
    return read(path, root)


def check(root: Path, nav: list[str]) -> list[Problem]:
    """Every problem of the pages under `root`; `nav` lists the pages as mkdocs.yml does, without language."""
    site, problems = load(root)
    problems += files(site, nav)
    for languages in site.pages.values():
        for page in languages.values():
            problems += [page.problem(*fault) for fault in page.faults]
            if not page.broken:
                problems += [problem for rule in pages_rules.RULES for problem in rule(site, page)]
        if len(languages) == 2 and not any(page.broken for page in languages.values()):
            problems += [*same_elements(**languages), *same_keys(**languages)]
    return problems


def files(site: Site, nav: list[str]) -> Iterator[Problem]:
    """Each page is there in both languages, once in the navigation, and at an address of its own."""
    listed = Counter(nav)
    for name, languages in site.pages.items():
        for missing in LANGUAGES.keys() - languages.keys():
            path = f"docs/{name.removesuffix('.md')}.{missing}.md"
            (page,) = languages.values()
            yield Problem(page.path, f"the page has no {LANGUAGES[missing]} side, {path}", f"write {path}")
        if (times := listed[name]) != 1:
            what = f"nav lists the page {times} times" if times else "nav does not list the page"
            yield Problem(next(iter(languages.values())).path, what, f"list `{name}` once under nav in mkdocs.yml")
    for name in listed:
        if name.endswith(".md") and name not in site.pages:
            mend = "write the page in both languages, or take it out of nav; nav names pages without language"
            yield Problem(f"mkdocs.yml nav {name}", f"docs/ has no page of this name in {' or '.join(LANGUAGES)}", mend)
    addresses = defaultdict(list)
    for path in sorted((site.root / "docs").rglob("*")):
        if path.suffix in (".md", ".ipynb") and path.is_file():
            addresses[address(path.relative_to(site.root / "docs").as_posix())].append(path.relative_to(site.root))
    for url, paths in addresses.items():
        if len(paths) > 1:
            both = " and ".join(path.as_posix() for path in paths)
            yield Problem(paths[0].as_posix(), f"{both} would have the same address /{url}", "rename one of them")


def address(path: str) -> str:
    """Where a page under docs/ is published; in lower case, as some file systems know no other."""
    name, language = re.fullmatch(r"(.*?)(?:\.(zh|en))?\.\w+", path).groups()
    prefix = "en/" if language == "en" else ""
    return (prefix + re.sub(r"(^|/)(index|readme)$", r"\1", name.lower())).rstrip("/")


def same_elements(zh: Page, en: Page) -> Iterator[Problem]:
    """Both languages have the same elements in the same order; only the first difference is told."""
    for mine, other in zip_longest(zh.elements, en.elements):
        if mine != other:
            here = f"{mine}" if mine else "the page ends"
            there = f"{en.path}:{other.line} has {other}" if other else f"{en.path} ends"
            mend = "make both pages say the same things in the same order"
            yield zh.problem(
                mine.line if mine else len(zh.lines), f"the languages part here: {here}, but {there}", mend
            )
            return


def same_keys(zh: Page, en: Page) -> Iterator[Problem]:
    """Both languages have the same keys in their front matter."""
    if zh.meta.keys() != en.meta.keys():
        what = f"front matter: {sorted(zh.meta)} here, but {en.path} has {sorted(en.meta)}"
        yield zh.problem(1, what, "give both the same keys")


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml; what its tags (`!ENV`, `!!python/name:…`) stand for is not needed."""


Loader.add_multi_constructor("", lambda loader, suffix, node: None)


def nav(root: Path) -> list[str]:
    """The files that mkdocs.yml's nav names, in its order, without links to other sites."""
    return list(named((root / "mkdocs.yml").read_text(encoding="utf-8")))


@cache
def named(settings: str) -> tuple[str, ...]:
    """The files that the nav of these settings names."""

    def flat(entry) -> Iterable[str]:
        if isinstance(entry, str):
            return [entry]
        return [name for inner in (entry.values() if isinstance(entry, dict) else entry or []) for name in flat(inner)]

    nav = yaml.load(settings, Loader).get("nav")
    return tuple(name for name in flat(nav) if not re.match(r"[a-z]+:", name))


def main(root: Path = ROOT) -> int:
    problems = check(root, nav(root))
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
