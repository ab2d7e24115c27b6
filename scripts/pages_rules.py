"""The rules of one page. Each takes the site and a page of it, and yields problems; `RULES` lists them."""

import posixpath
import re
from collections.abc import Iterator

from scripts import pages_prose
from scripts.pages import LANGUAGES, Page, Site
from scripts.problems import Problem

SHOWS_OUTPUT = ("run", "pair", "output")
ID = re.compile(r"[a-z][a-z0-9-]*")
FORBIDDEN = re.compile(r"<\s*(?:script|style|iframe|object|embed|link)\b", re.IGNORECASE)
HANDLER = re.compile(r"\son\w+\s*=", re.IGNORECASE)
REMOTE = re.compile(r"""\bsrc(?:set)?\s*=\s*["']?\s*(?:https?:)?//""", re.IGNORECASE)


def headings(site: Site, page: Page) -> Iterator[Problem]:
    """One h1, no level skipped; every heading has an id of lower-case letters, digits and hyphens, used once."""
    found, above = [element for element in page.elements if element.level], 0
    if (number := sum(element.level == 1 for element in found)) != 1:
        lines = [element.line for element in found if element.level == 1]
        what = f"the page has {number} headings of level 1"
        yield page.problem(lines[1] if lines else 1, what, "give it exactly one")
    for element in found:
        if element.id is None:
            yield page.problem(element.line, f"{element} has no id", "end it with `{ #id }`")
        if element.level > above + 1:
            what = f"{element} is of level {element.level} after a heading of level {above}"
            yield page.problem(element.line, what, "skip no level")
        above = element.level
    first = {}
    for id, line in page.ids:
        if not ID.fullmatch(id):
            mend = "write lower-case ASCII letters, digits and hyphens, a letter first"
            yield page.problem(line, f"`{id}` is no id", mend)
        if first.setdefault(id, line) != line or page.ids.count((id, line)) > 1:
            yield page.problem(line, f"the id `{id}` is used at line {first[id]} already", "give each its own id")


def text(site: Site, page: Page) -> Iterator[Problem]:
    """What is read is in the page's language, finished, and without figures typed by hand."""
    rules = [getattr(pages_prose, LANGUAGES[page.language].lower()), pages_prose.stubs]
    rules.append(lambda text: pages_prose.figures(text, page.language))
    for kind, line, said in page.prose:
        for fault in (fault for rule in rules for fault in rule(said)):
            what = fault.what if kind == "paragraph" else f"{fault.what} ({kind})"
            yield page.problem(line + said.count("\n", 0, fault.at), what, fault.mend)
    for _, line, code in page.codes:
        for fault in pages_prose.code_figures(code, site.programs(page)):
            yield page.problem(line, fault.what, fault.mend)
    for _, line, tag in page.html:
        for fault in pages_prose.stubs(tag) if tag.startswith("<!--") else ():
            yield page.problem(line, fault.what, fault.mend)
    for element in page.elements:
        if element.kind in ("macro call", "diagram line") and (match := pages_prose.CJK.search(element.shown)):
            what = f"Chinese in a {element.kind}, which is the same in both languages: {match[0]}"
            yield page.problem(element.line, what, 'write ASCII; the text of a diagram goes into labels, `id["text"]`')


def code(site: Site, page: Page) -> Iterator[Problem]:
    """Code and outputs come from macro calls; nothing on the page runs by itself or comes from elsewhere."""
    mend = "show code and outputs by a macro call: {{ pair(…) }}, {{ output(…) }}"
    for element in page.elements:
        if element.kind == "indented code" or (element.kind == "fenced block" and element.shown != "mermaid"):
            yield page.problem(element.line, f"{element} is written by hand", mend)
        if element.kind == "image" and re.match(r"(?:https?:)?//", element.shown):
            yield page.problem(element.line, f"{element} comes from another site", "keep the image under docs/")
    for line, written in enumerate(page.lines, 1):
        if re.search(r"-+8<-+", written):
            yield page.problem(line, f"an include by hand: {written.strip()}", mend)
    for _, line, tag in page.html + page.prose:
        if FORBIDDEN.search(tag):
            yield page.problem(line, f"a tag that runs, styles or loads: {tag.strip()}", "take it out")
    for _, line, tag in page.html:
        if HANDLER.search(tag.replace("{", " ")) or REMOTE.search(tag):
            yield page.problem(line, f"an attribute that runs or loads something: {tag.strip()}", "take it out")


def teasers(site: Site, page: Page) -> Iterator[Problem]:
    """Each brain-teaser is in a callout `important`, and its answer, with output and explanation, after all of them."""
    asked, answered = page.calls("teaser"), page.calls("answer")
    ids = [[args[0] if args else "" for *_, args in calls] for calls in (asked, answered)]
    for calls, own, others, other in ((asked, *ids, "answer"), (answered, *ids[::-1], "teaser")):
        for (_, element, _), id in zip(calls, own, strict=True):
            if own.count(id) > 1:
                yield page.problem(element.line, f"{element} is there {own.count(id)} times", "give each id to one")
            if id not in others:
                yield page.problem(element.line, f'{element} has no {{{{ {other}("{id}") }}}}', f"write the {other}")
    if sorted(ids[0]) == sorted(ids[1]) and ids[0] != ids[1]:
        what = f"the answers are in the order {', '.join(ids[1])}, the teasers in the order {', '.join(ids[0])}"
        yield page.problem(answered[0][1].line, what, "answer in the order of the teasers")
    if asked and answered and asked[-1][0] > answered[0][0]:
        what = f"{answered[0][1]} is before {asked[-1][1]} (line {asked[-1][1].line})"
        yield page.problem(answered[0][1].line, what, "put the answers after all teasers")
    for _, element, _ in asked:
        if not any(container.startswith("`!!! important") for container in element.inside):
            yield page.problem(element.line, f"{element} is in no callout `!!! important`", "put it into one")
    for index, element, _ in answered:
        above = max((i for i, e in enumerate(page.elements[:index]) if e.level), default=None)
        around = page.section(above) if above is not None else []
        if not any(name in SHOWS_OUTPUT for e in around for name, _ in e.functions):
            yield page.problem(element.line, f"the section of {element} shows no output", "run it there: {{ run(…) }}")
        if not any(e.kind == "paragraph" for e in around):
            yield page.problem(element.line, f"the section of {element} explains nothing", "explain every option")


def options(site: Site, page: Page) -> Iterator[Problem]:
    """The options of a brain-teaser are two or more, before its `teaser`; its answer explains each, and one is right."""
    asked: dict[str, list[str]] = {}
    waiting: list[str] = []
    for element in page.elements:
        if not any(container.startswith("`!!! important") for container in element.inside):
            continue
        for name, args in element.functions:
            if name == "option":
                waiting.append(args[0] if args else "")
            elif name == "teaser":
                asked[args[0] if args else ""], waiting = waiting, []
                if len(asked[args[0] if args else ""]) < 2:
                    mend = 'begin each item of its list with {{ option("…") }}'
                    yield page.problem(element.line, f"{element} has no options to choose from", mend)
    for index, element, args in page.calls("answer"):
        slugs = asked.get(args[0] if args else "", [])
        above = max((i for i, e in enumerate(page.elements[:index]) if e.level), default=0)
        explained = {args[0] for e in page.section(above) for name, args in e.functions if name == "option" and args}
        for slug in (slug for slug in slugs if slug not in explained):
            what = f"the section of {element} does not explain the option {slug}"
            yield page.problem(element.line, what, f'begin an item of a list there with {{{{ option("{slug}") }}}}')
        if slugs and not set(args[1:2]) & set(slugs):
            what = f"{element} does not say which option is right"
            yield page.problem(
                element.line, what, f'write {{{{ answer("{args[0]}", "…") }}}} with one of {", ".join(slugs)}'
            )


def sections(site: Site, page: Page) -> Iterator[Problem]:
    """No heading without content."""
    for index, element in enumerate(page.elements):
        if element.level and not page.section(index):
            what = f"nothing stands under {element}"
            yield page.problem(element.line, what, "write the section, or remove the heading")


def lesson_parts(site: Site, page: Page) -> Iterator[Problem]:
    """A lesson has a diagram, a note, a brain-teaser, both programs, a comparison, and a receipt at a section's end."""
    if not site.is_lesson(page):
        return
    kinds = {(element.kind, element.shown.split()[-1] if element.shown else "") for element in page.elements}
    has = {
        "diagram (```mermaid)": ("fenced block", "mermaid") in kinds,
        "callout `note`": ("callout", "note") in kinds,
        "brain-teaser {{ teaser(…) }}": page.calls("teaser"),
        "{{ pair(…) }}": page.calls("pair"),
        "{{ comparison(…) }}": page.calls("comparison"),
    }
    for part in (part for part, there in has.items() if not there):
        yield page.problem(1, f"the lesson has no {part}", "add one")
    receipts = page.calls("receipt")
    if len(receipts) != 1:
        line = receipts[1][1].line if receipts else 1
        yield page.problem(line, f"the lesson has {len(receipts)} times {{{{ receipt() }}}}", "call it once")
    for index, element, _ in receipts:
        after = page.elements[index + 1 : index + 2]
        if after and not after[0].level:
            what = f"{element} is not the last of its section: {after[0]} follows at line {after[0].line}"
            yield page.problem(element.line, what, "move it to the section's end")


def links(site: Site, page: Page) -> Iterator[Problem]:
    """Links lead to pages and ids that are there in both languages, and name no language."""
    for element in page.elements:
        if element.kind not in ("link", "image") or re.match(r"[a-zA-Z][\w+.-]*:|//|\{", element.shown):
            continue
        path, hash, anchor = element.shown.partition("#")
        if (neutral := re.sub(r"\.(?:zh|en)(?=\.\w+$)", "", path)) != path:
            yield page.problem(element.line, f"{element} names a language", f"write `{neutral}`")
            continue
        if path.startswith("/") or (path and not posixpath.splitext(path)[1]):
            what = f"{element} is not the relative path of a file"
            yield page.problem(element.line, what, "write it as `../part/page.md`")
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), path)) if path else page.name
        if not target.endswith(".md"):
            continue  # mkdocs checks files that are no pages
        for language in LANGUAGES:
            side = f"docs/{target.removesuffix('.md')}.{language}.md"
            if not (other := site.pages.get(target, {}).get(language)):
                yield page.problem(element.line, f"{element} leads nowhere: there is no {side}", "mend the path")
            elif "%" in anchor or not anchor.isascii():
                yield page.problem(element.line, f"the anchor of {element} is not ASCII", "link to the heading's id")
                break
            elif hash and not other.broken and anchor not in dict(other.ids):
                what = f"{element} leads nowhere: {side} has no id `{anchor}`"
                yield page.problem(element.line, what, "mend the anchor")


def front_matter(site: Site, page: Page) -> Iterator[Problem]:
    """Each page describes itself, in its language."""
    for key in ("description", "title"):
        value = page.meta.get(key)
        if value is None and key == "title":
            continue
        if not isinstance(value, str) or not value.strip():
            what = f"the front matter has no {key}" if value is None else f"the {key} is empty or no text: {value!r}"
            yield page.problem(1, what, f"begin the page with `---`, `{key}: …`, `---`")
        elif page.language == "zh" and key == "description" and not re.search(f"[{pages_prose.HAN}]", value):
            yield page.problem(1, f"the description is not Chinese: {value}", "translate it")


RULES = (headings, text, code, teasers, options, sections, lesson_parts, links, front_matter)
