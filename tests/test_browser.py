"""The published site in a real browser: every page, in both languages, on a wide screen and on a phone, light and dark.

What is tested for a page follows from the sources in docs/: a new page or lesson is tested unasked.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from scripts.diagrams import DOCS, find, labels, squeezed
from scripts.lessons import LABELS, SIDES, lesson, lessons
from tests.reading import (
    FIRST,
    FOLDERS,
    HAN,
    HEADING,
    LESSONS,
    PAGES,
    PAIRED,
    PROSE,
    SCREENS,
    SYMBOLS,
    address,
    assert_in_sight,
    calling,
    every_language,
    every_lesson,
    every_paired_page,
    laid_out,
    markdown,
    places,
    source,
    switch_language,
    unfold,
)

pytestmark = pytest.mark.xdist_group("browser")

# Words that lunr's stop word filter takes out of a query, and that a heading may have as its longest.
UNSEARCHED = {"about", "because", "there", "these", "which", "while", "where", "would", "should", "their", "other"}


# Every page


def test_every_built_page_is_tested(site: Path):
    built = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    assert built == {(folder + path).strip("/") or "." for folder in FOLDERS.values() for path in PAGES}
    assert LESSONS and PAIRED


@places()
def test_page_loads_without_a_fault_and_fits_the_screen(opened):
    page = opened.page
    assert page.locator("html").get_attribute("lang") == opened.language
    expect(page.locator("article h1")).to_be_visible()
    page.mouse.wheel(0, 100_000)
    assert too_wide(page) == []
    assert opened.faults == []


def too_wide(page: Page) -> list[str]:
    """What sticks out of the screen and can't be scrolled in a box of its own."""
    return page.evaluate(
        """() => {
            const scrolls = element => /auto|scroll/.test(getComputedStyle(element).overflowX)
            const inside = element => element && (scrolls(element) || inside(element.parentElement))
            const name = (element, box) => `${element.tagName}.${element.className} ${box.left}…${box.right}`
            const found = [...document.body.querySelectorAll("*")].flatMap(element => {
                const box = element.getBoundingClientRect()
                const out = element.closest("article")
                    ? box.right > innerWidth + 1 || box.left < -1
                    : box.width > innerWidth + 1
                return box.width && box.height && out && !inside(element.parentElement) ? [name(element, box)] : []
            })
            const root = document.documentElement
            return root.scrollWidth > innerWidth ? [`the page is ${root.scrollWidth} wide`, ...found] : found
        }"""
    )


@places(screens=["phone"])
def test_diagrams_are_drawn_for_the_colour_scheme(opened):
    page, own = opened.page, source(opened.language, opened.path)
    sources = [diagram.source for diagram in find() if DOCS / diagram.page == own]
    figures = page.locator("figure.diagram").all()
    assert len(figures) == len(sources) == own.read_text().count("```mermaid")
    expect(page.locator(".mermaid, code.language-mermaid")).to_have_count(0)
    for diagram, figure in zip(sources, figures, strict=True):
        title = next(line.strip() for line in diagram.splitlines() if "accTitle" in line)
        assert title not in page.locator("article").inner_text()
        for scheme, hidden in (("dark", "light"), ("light", "dark")):
            page.emulate_media(color_scheme=scheme)
            expect(figure.locator(f".diagram-{hidden} svg")).to_be_hidden()
            drawing = figure.locator(f".diagram-{scheme} svg")
            expect(drawing).to_be_visible()
            assert min(drawing.bounding_box()[side] for side in ("width", "height")) > 100
            seen = squeezed("".join(text.text_content() for text in drawing.locator("text").all() if text.is_visible()))
            assert [label for label in labels(diagram) if squeezed(label) not in seen] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.strip("/") or "home")
def test_language_switch_stays_on_the_page(reader, path):
    page = reader.begin("wide").open("zh", path)
    for goal in ("en", "zh"):
        switch_language(page, goal)
        reader.at(goal, path)
        expect(page.locator("html")).to_have_attribute("lang", goal)


# Code, brain-teasers, claims


@places(PAIRED, languages=["zh"], screens=["wide"])
def test_copy_button_copies_exactly_the_code(opened):
    """In one language: `scripts.check_site` compares the code of both."""
    page = opened.page
    unfold(page)
    buttons = page.locator("article button.copy").all()
    assert len(buttons) >= len(SIDES)
    for button in buttons:
        button.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        name, program = button.locator("xpath=..").locator("a").first.inner_text().split("/")
        side = {file: side for side, file in SIDES.items()}[program]
        assert copied in lesson(name).sections(side).values(), f"no section of {program} is {copied!r}"
    programs = page.locator("article .highlight:is(.language-python, .language-rust)")
    assert programs.count() == len(buttons) + page.locator("article .notebook .language-python").count()


def pairs(page: Page) -> list[dict[str, bool]]:
    """For each pair of the page, whether each side can be seen, by its label."""
    unfold(page)
    page.wait_for_timeout(50)
    return page.locator(".pair .tabbed-set").evaluate_all(
        """sets => sets.map(set => {
            const blocks = set.querySelectorAll(":scope > .tabbed-content > .tabbed-block")
            const names = [...set.querySelectorAll(":scope > .tabbed-labels > label")].map(label => label.innerText)
            return Object.fromEntries(names.map((name, i) => [name.trim(), blocks[i].checkVisibility()]))
        })"""
    )


def assert_chosen(page: Page, label: str) -> None:
    """Every pair with two sides shows this one alone; a pair with one side shows that one."""
    found = pairs(page)
    assert any(len(pair) == len(SIDES) for pair in found)
    assert found == [{name: name == label or len(pair) == 1 for name in pair} for pair in found]


@every_paired_page
def test_tabs_on_a_phone_are_linked_and_remembered(reader, path):
    page = reader.begin("phone").open("zh", path)
    assert_chosen(page, LABELS["pytorch"])
    page.locator(".pair .tabbed-labels label", has_text=LABELS["burn"]).first.click()
    assert_chosen(page, LABELS["burn"])
    page.reload()
    laid_out(page)
    assert_chosen(page, LABELS["burn"])
    switch_language(page, "en")
    reader.at("en", path)
    assert_chosen(page, LABELS["burn"])
    page.locator(".pair .tabbed-labels label", has_text=LABELS["pytorch"]).last.click()
    assert_chosen(page, LABELS["pytorch"])


@places(PAIRED, screens=["wide"])
def test_sides_stand_beside_each_other_on_a_wide_screen(opened):
    page = opened.page
    assert all(all(pair.values()) for pair in pairs(page))
    sets = page.locator(".pair .tabbed-set", has=page.locator(":scope > input + input")).all()
    assert sets
    for both in sets:
        names = [label.bounding_box() for label in both.locator("> .tabbed-labels > label").all()]
        left, right = blocks = [
            block.bounding_box() for block in both.locator("> .tabbed-content > .tabbed-block").all()
        ]
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]
        for name, block in zip(names, blocks, strict=True):
            expect(both.locator("> .tabbed-labels > label").first).to_be_visible()
            assert block["x"] <= name["x"] < block["x"] + block["width"]
            assert name["y"] < block["y"]


@places(calling("teaser"))
def test_brain_teasers_lead_to_their_answers_and_back(opened):
    unfold(opened.page)
    teasers = opened.page.locator("a.teaser:not([id$=-answer])").all()
    assert teasers
    for teaser in teasers:
        there_and_back(opened.page, teaser)


def there_and_back(page: Page, teaser: Locator) -> None:
    name = teaser.get_attribute("id")
    answer = page.locator(f"[id='{name}-answer']")
    teaser.click()
    page.wait_for_url(re.compile(rf"#{name}-answer$"))
    assert_in_sight(answer)
    answer.click()
    page.wait_for_url(re.compile(rf"#{name}$"))
    assert_in_sight(teaser)


@places(calling("claim"), screens=["phone"])
def test_marks_of_claims_lead_to_the_receipt(opened):
    page = opened.page
    unfold(page)
    marks = page.locator("article a.claim").all()
    assert marks
    marks[0].click(trial=True)
    for mark in marks:
        title, (elsewhere, claim) = mark.get_attribute("title"), mark.get_attribute("href").split("#")
        mark.dispatch_event("click")
        page.wait_for_url(re.compile(rf"#{claim}$"))
        line = page.locator(f"#receipt ~ .stretch > ul > li:has(> [id='{claim}'])")
        assert_in_sight(line)
        assert squeezed(title) in squeezed(line.inner_text())
        if elsewhere:
            page.go_back()


# Search


def let_theme_settle(page: Page) -> None:
    """Leave the theme the time that a person takes: it closes the search a moment after a page was opened, and does
    not notice when the search box is left and entered at once."""
    page.evaluate("new Promise(done => setTimeout(done, 250))")


def search(page: Page, query: str) -> list[str]:
    """The paths of the pages that the search box lists for a query, the best first."""
    box = page.locator(".md-search__input")
    if not box.evaluate("box => box === document.activeElement"):
        box.focus()
    page.wait_for_function(
        """() => {
            const words = JSON.parse(document.querySelector("#__config").textContent).translations
            const said = document.querySelector(".md-search-result__meta").textContent.trim()
            return /\\d/.test(said) || ["placeholder", "one", "none"].some(state => words[`search.result.${state}`] === said)
        }"""
    )
    page.evaluate("document.querySelector('.md-search-result__meta').textContent = '…'")
    page.locator(".md-search__input").fill(query)
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.md-search-result__meta').textContent !== '…'")
    return page.locator(".md-search-result__item").evaluate_all(
        "items => items.map(item => new URL(item.querySelector('a').href).pathname)"
    )


def headings(language: str) -> dict[str, list[str]]:
    """The headings of every page, by its path."""
    return {path: [text.replace("`", "") for text in HEADING.findall(markdown(language, path))] for path in PAGES}


def words_of_headings(language: str, path: str) -> Iterator[str]:
    """A word from within each heading, in Chinese from its middle, that no other page's headings have."""
    others = " ".join(text for page, texts in headings(language).items() if page != path for text in texts).lower()
    for heading in headings(language)[path]:
        if language == "zh":
            word = max(HAN.findall(heading), key=len, default="")
            word = word[len(word) // 2 :]
        else:
            word = max(re.findall(r"[A-Za-z]+", heading), key=len, default="")
        if len(word) >= {"zh": 2, "en": 5}[language] and word.lower() not in others and word.lower() not in UNSEARCHED:
            yield word


def symbols(path: str) -> Iterator[str]:
    """The longest names in the programs of a lesson that no other lesson's programs have, three of each form."""
    code = {one.name: "\n".join(text for side in SIDES for text in one.sections(side).values()) for one in lessons()}
    own = code.pop(Path(path).name)
    for form in SYMBOLS:
        names = {name for name in re.findall(form, own) if not any(name in text for text in code.values())}
        yield from sorted(names, key=lambda name: (-len(name), name))[:3]


def words_of_prose(path: str) -> Iterator[str]:
    """Four characters from the middle of Chinese sentences, wherever they cut words."""
    lines = PROSE.findall(markdown("zh", path))
    runs = [max(HAN.findall(line), key=len, default="") for line in lines]
    yield from [run[3:7] for run in runs if len(run) >= 10][:5]


@every_lesson
@every_language
def test_search_finds_the_lesson_in_the_language_of_the_page(reader, language, path):
    page = reader.begin("wide").open(language, "")
    title = headings(language)[path][0]
    words = [*words_of_headings(language, path), *symbols(path), f"burn {title}"]
    own, missed = FOLDERS[language] + path, []
    assert len(words) > 1
    for query in dict.fromkeys([*words, *(words_of_prose(path) if language == "zh" else [])]):
        found = search(page, query)
        if own not in (found[:FIRST] if query in words else found):
            missed.append(f"{query}: {found}")
        elif found[0].startswith(FOLDERS["en"]) != (language == "en"):
            missed.append(f"{query}: the other language is first: {found}")
    assert missed == []
    assert reader.faults == []


@every_language
def test_search_result_leads_to_the_page(reader, language):
    path = LESSONS[0]
    page = reader.begin("phone").open(language, "")
    let_theme_settle(page)
    page.locator("label.md-header__button[for=__search]").click()
    expect(page.locator(".md-search__input")).to_be_focused()
    assert search(page, headings(language)[path][0])
    first = page.locator(f".md-search-result__item a[href*='{FOLDERS[language]}{path}']").first
    expect(first).to_be_in_viewport()
    first.click()
    reader.at(language, path)
    expect(page.locator("article h1")).to_be_in_viewport()
    expect(page.locator("article mark")).not_to_have_count(0)


# Without a mouse, without a page, without scripts


@every_language
def test_tab_key_reaches_the_link_to_the_content(reader, language):
    page = reader.begin("wide").open(language, LESSONS[0])
    page.keyboard.press("Tab")
    skip = page.locator("a.md-skip")
    expect(skip).to_be_focused()
    expect(skip).to_have_css("opacity", "1")
    assert_in_sight(skip)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"#{page.locator('article h1').get_attribute('id')}$"))


@every_language
def test_keys_open_and_close_the_search(reader, language):
    page = reader.begin("wide").open(language, LESSONS[0])
    query = page.locator(".md-search__input")
    for key in ("/", "s", "f"):
        let_theme_settle(page)
        page.keyboard.press(key)
        expect(query).to_be_focused()
        expect(page.locator("#__search")).to_be_checked()
        expect(page.locator(".md-search__output")).to_be_in_viewport()
        page.keyboard.press("Escape")
        expect(query).not_to_be_focused()
        expect(page.locator("#__search")).not_to_be_checked()


@every_language
def test_missing_page_says_so_in_both_languages(reader, server, language):
    page, missing = reader.begin("phone").page, address(server, language, "no/such/page/")
    assert page.goto(missing, wait_until="networkidle").status == HTTPStatus.NOT_FOUND
    assert [fault for fault in reader.faults if missing not in fault] == []
    for goal in FOLDERS:
        words = page.locator(f"article p[lang={goal}]")
        assert_in_sight(words)
        assert bool(HAN.search(words.inner_text())) == (goal == "zh")
        assert words.locator("a").count()
        for link in words.locator("a").all():
            assert link.evaluate("link => link.href") == address(server, goal, "")
            link.click()
            reader.at(goal, "")
            expect(page.locator("html")).to_have_attribute("lang", goal)
            page.goto(missing)


@every_paired_page
@every_language
def test_all_can_be_read_without_scripts(scriptless, server, language, path):
    page = scriptless.begin("wide").page
    page.goto(address(server, language, path))
    expect(page.locator("html")).to_have_class("no-js")
    unfold(page)
    assert_readable(page.locator("article pre"))
    for drawing in page.locator(".diagram-light svg").all():
        expect(drawing).to_be_visible()
        expect(drawing.locator("text", has_text=re.compile(r"\S")).first).to_be_visible()
    page.set_viewport_size(SCREENS["phone"])
    for label in LABELS.values():
        for tab in page.locator(".pair .tabbed-labels > label", has_text=label).all():
            tab.click()
        assert [pair for pair in pairs(page) if not pair.get(label, True)] == []
    for teaser in page.locator("a.teaser:not([id$=-answer])").all():
        there_and_back(page, teaser)


def assert_readable(blocks: Locator) -> None:
    """Every block of code or output can be seen, with something in it."""
    for block in blocks.all():
        expect(block).to_be_visible()
        assert block.inner_text().strip()
