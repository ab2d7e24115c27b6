"""What a reader can do with the site: compare, choose, guess, find, switch, print, take it along. In a real browser."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from scripts import claims, offline, shelf
from scripts.audit import HEAVIEST
from scripts.blocks import LONG
from scripts.lessons import LABELS, lesson, lessons
from tests.reading import (
    FIRST,
    FOLDERS,
    LESSONS,
    PAGES,
    PAIRED,
    SCREENS,
    address,
    assert_in_sight,
    calling,
    every_language,
    every_lesson,
    laid_out,
    places,
    switch_language,
    unfold,
)
from tests.test_browser import pairs, search

pytestmark = pytest.mark.xdist_group("reader")

TALLEST = 1440  # pixels, of a screen
BELOW_HEADER = 100  # pixels from the top, at most, of a heading that was jumped to
PAPER = {"width": 718, "height": 1000}  # between the margins of A4
SHIFT = """
    window.shifted = 0
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value
    }).observe({ type: "layout-shift", buffered: true })
"""
# The colour schemes in which the page stands at its frames.
DRAWN = """
    window.drawn = []
    const look = () => {
        window.drawn.push(document.body?.dataset.mdColorScheme)
        if (window.drawn.length < 50) requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
"""
# Of the tokens of code that look alike, one stays: axe would look at each of thousands.
ALIKE = """() => {
    const seen = new Set()
    for (const token of document.querySelectorAll("pre > code span:not(.part, :has(span))")) {
        const classes = []
        for (let element = token; element && !element.matches("article"); element = element.parentElement) {
            classes.push(element.className)
        }
        const look = classes.join("/")
        seen.has(look) ? token.remove() : seen.add(look)
    }
}"""
# What is looked for, and the page that it must find: by language, query and address.
QUERIES = {
    "zh": {
        "练循": "main-line/training-loop/",
        "burn 训练循环": "main-line/training-loop/",
        "动脑筋": "teasers/",
        "收据总表": "receipts/",
        "全部课程": "lessons/",
        "练到收敛": "hands-on/train-to-convergence/",
        "追查": "hands-on/train-to-convergence-notebook/",
        "指标放在哪里": "main-line/training-loop/",
        "种子固定了什么": "main-line/datasets-and-dataloaders/",
        "LearningResult": "main-line/training-loop/",
        "into_data": "main-line/save-and-load/",
        "nn.Linear": "main-line/two-layer-mlp/",
        "retain_graph": "main-line/backward-and-gradients/",
        "StateSink": "main-line/optimizer-state/",
        "ModuleLrScheduler": "burn/optimizers/",
        "inference_mode": "main-line/no-grad/",
        "allow_partial": "main-line/save-and-load/",
        "collate_fn": "main-line/datasets-and-dataloaders/",
        "running_var": "main-line/train-and-eval/",
        "clip_grad_norm_": "main-line/backward-and-gradients/",
        "RAYON_NUM_THREADS": "main-line/numerics/",
        "zero_grad": "main-line/training-loop/",
    },
    "en": {
        "training loop": "main-line/training-loop/",
        "brain-teasers": "teasers/",
        "receipts": "receipts/",
        "all lessons": "lessons/",
        "converg": "hands-on/train-to-convergence/",
        "notebook": "hands-on/train-to-convergence-notebook/",
        "where metrics live": "main-line/training-loop/",
        "bias correction": "hands-on/train-to-convergence/",
        "drop_last": "main-line/datasets-and-dataloaders/",
        "LossMetric": "main-line/training-loop/",
        "into_data": "main-line/save-and-load/",
        "nn.Linear": "main-line/two-layer-mlp/",
        "retain_graph": "main-line/backward-and-gradients/",
        "StateSink": "main-line/optimizer-state/",
        "ModuleLrScheduler": "burn/optimizers/",
        "inference_mode": "main-line/no-grad/",
        "allow_partial": "main-line/save-and-load/",
        "collate_fn": "main-line/datasets-and-dataloaders/",
        "running_var": "main-line/train-and-eval/",
        "clip_grad_norm_": "main-line/backward-and-gradients/",
        "RAYON_NUM_THREADS": "main-line/numerics/",
        "zero_grad": "main-line/training-loop/",
    },
}
KINDS = ["", "lessons/", "receipts/", "teasers/", *LESSONS]


# Side by side


def marked_sections() -> list[str]:
    return [path for path in LESSONS if any(code.parts for code in lesson(Path(path).name).sections("burn").values())]


@places(marked_sections(), screens=["wide", "phone"])
def test_corresponding_parts_light_up_together(opened):
    page = opened.page
    pair = page.locator(".pair[data-parts]").first
    told = json.loads(pair.get_attribute("data-parts"))
    assert told[0].keys() == told[1].keys()
    part = pair.locator(".part:visible").first
    name = part.get_attribute("data-part")
    alike = pair.locator(f'.part[data-part="{name}"]')
    for begin, end in (
        (lambda: part.hover(), lambda: page.mouse.move(0, 0)),
        (lambda: part.focus(), lambda: part.blur()),
        (lambda: part.click(), lambda: (part.click(), part.blur(), page.mouse.move(0, 0))),
    ):
        begin()
        assert all("lit" in one.get_attribute("class") for one in alike.all())
        assert pair.locator(".lit").count() == alike.count() >= 2
        end()
        expect(pair.locator(".lit")).to_have_count(0)


@places(marked_sections(), languages=["zh"], screens=["wide"])
def test_parts_hold_the_lines_that_the_programs_mark(opened):
    name = Path(opened.path).name
    for side, label in LABELS.items():
        for section, code in lesson(name).sections(side).items():
            rows = code.split("\n")
            for part, ranges in code.parts.items():
                blocks = opened.page.locator(".tabbed-block").filter(has_text=code[:40]).locator("pre > code")
                shown = [block for block in blocks.all() if block.text_content().rstrip("\n") == code]
                for block in shown[:1]:
                    texts = block.locator(f'.part[data-part="{part}"]').all_text_contents()
                    wanted = ["\n".join(rows[lines.start : lines.stop]) for lines in ranges]
                    assert [text.rstrip("\n") for text in texts] == wanted, f"{label} {section} {part}"


def assert_shown(page: Page, side: str, both: list[bool]) -> None:
    """The pairs with two sides show this one, or both as `both` says they do on this screen."""
    want = {"both": dict(zip(LABELS.values(), both))}.get(side, {name: name == side for name in LABELS.values()})
    found = [pair for pair in pairs(page) if len(pair) == len(LABELS)]
    assert found
    assert found == [want] * len(found)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_side_chosen_is_remembered_across_pages_and_languages(reader, screen):
    both = [True, screen == "wide"]
    page = reader.begin(screen).open("zh", PAIRED[-1])
    assert_shown(page, "both", both)
    for side in ("burn", "PyTorch", "both"):
        page.locator(".sides button", has_text=re.compile("两边|Both") if side == "both" else side).click()
        assert_shown(page, side, both)
        reader.open("zh", PAIRED[0])
        assert_shown(page, side, both)
        expect(page.locator(".sides [aria-pressed=true]")).to_have_attribute("value", side)
        switch_language(page, "en")
        reader.at("en", PAIRED[0])
        assert_shown(page, side, both)
        switch_language(page, "zh")
        reader.at("zh", PAIRED[0])
    assert reader.faults == []


@places(LESSONS, languages=["en"], screens=["wide"])
def test_long_outputs_are_folded_until_asked_for(opened):
    page = opened.page
    unfold(page)
    while (button := page.locator(".unfold:visible").first).count():
        code = button.locator("xpath=../preceding-sibling::*[1]").locator("pre > code").element_handle()
        whole = code.text_content().rstrip("\n").count("\n") + 1
        assert whole > LONG
        assert str(whole) in button.inner_text()
        assert code.evaluate("code => code.scrollHeight > code.clientHeight + 20")
        button.click()
        assert code.evaluate("code => code.scrollHeight <= code.clientHeight + 2")
    for code in page.locator(".language-text pre > code").all():
        if code.is_visible():
            assert code.evaluate("code => code.scrollHeight <= code.clientHeight + 2")


@places(LESSONS, languages=["zh"], screens=["wide"])
def test_code_leads_to_its_program_and_to_how_to_run_it(opened):
    page = opened.page
    links = page.locator(".origin").first.locator("a")
    program, again = (links.nth(i).evaluate("link => link.href") for i in (0, 1))
    answer = page.request.get(program)
    assert answer.ok
    name = Path(opened.path).name
    assert answer.text() in [lesson(name).program(side).read_text() for side in LABELS]
    assert again.endswith("#repeat")
    expect(page.locator("#repeat")).to_have_count(1)


# Brain-teasers


@places(calling("teaser"))
def test_a_reader_commits_to_an_option_and_then_learns_the_answer(opened):
    page = opened.page
    for teaser in page.locator("a.teaser:not([data-right])").all():
        right = page.locator(f"[id='{teaser.get_attribute('id')}-answer']").get_attribute("data-right")
        callout = teaser.locator("xpath=ancestor::div[contains(@class,'admonition')]")
        options = callout.locator(".choose")
        names = [option.locator(".option").get_attribute("data-option") for option in options.all()]
        assert right in names and len(names) >= 2
        wrong = next(name for name in names if name != right)
        assert callout.locator("li[data-is]").count() == 0 and callout.locator(".verdict").inner_text() == ""
        callout.locator(f".choose:has([data-option='{wrong}'])").click()
        expect(callout.locator("li[data-is=right] .option")).to_have_attribute("data-option", right)
        expect(callout.locator(".choose[aria-pressed=true] .option")).to_have_attribute("data-option", wrong)
        assert callout.locator(".verdict > div").count() == 2
    page.reload()
    laid_out(page)
    for teaser in page.locator("a.teaser:not([data-right])").all():
        callout = teaser.locator("xpath=ancestor::div[contains(@class,'admonition')]")
        expect(callout.locator(".choose[aria-pressed=true]")).to_have_count(1)


@every_language
def test_the_page_of_all_teasers_ticks_those_that_were_answered(reader, language):
    page = reader.begin("wide").open(language, "teasers/")
    asked = page.locator("a.asked")
    told = [teaser for source in shelf.lesson_pages(language) for teaser in shelf.teasers(source)]
    assert asked.count() == len(told)
    assert all(teaser.question for teaser in told)
    expect(page.locator("a.asked.done")).to_have_count(0)
    asked.first.click()
    page.locator(".choose").first.click()
    reader.open(language, "teasers/")
    expect(page.locator("a.asked.done")).to_have_count(1)
    switch_language(page, "en" if language == "zh" else "zh")
    expect(page.locator("a.asked.done")).to_have_count(1)


# The pages about all lessons


@every_language
def test_the_table_of_all_comparisons_sorts_and_filters(reader, language):
    page = reader.begin("wide").open(language, "receipts/")
    rows = page.locator(".sortable tbody tr")
    stated = sum(len(claims.evaluate(one).agreements) for one in lessons())
    assert rows.count() == stated
    box = page.locator(".filter input")
    box.fill("mismatch")
    shown = page.locator(".sortable tbody tr:visible")
    assert 0 < shown.count() < stated
    assert all("MISMATCH" in text for text in shown.all_inner_texts())
    box.fill("")
    worst = page.locator(".sortable th button").nth(3)
    for order in ("ascending", "descending"):
        worst.click()
        expect(page.locator(".sortable th").nth(3)).to_have_attribute("aria-sort", order)
        texts = [row.locator("td").nth(3).inner_text() for row in rows.all()]
        numbers = [number(text) for text in texts]
        assert numbers == sorted(numbers, reverse=order == "descending")


def number(text: str) -> float:
    """1.2 × 10⁻⁷ as a float; nothing as less than any."""
    plain = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")).replace("\u00a0", "")
    if not plain:
        return -1
    return float(
        re.sub(r"^10", "1e", plain) if plain.startswith("10") and len(plain) > 2 else plain.replace("×10", "e")
    )


@every_language
def test_the_index_lists_every_lesson_with_what_it_settles_and_needs(reader, language):
    page = reader.begin("wide").open(language, "lessons/")
    text = page.locator("article").inner_text()
    for source in shelf.lesson_pages(language):
        assert shelf.title(source) in text and shelf.description(source) in text
        for name in shelf.needs(source):
            assert name in {shelf.stem(other) for other in shelf.lesson_pages(language)}


# Finding, and language


@every_language
def test_search_finds_what_readers_look_for(reader, language):
    page = reader.begin("wide").open(language, "")
    missed = {}
    for query, path in QUERIES[language].items():
        found = search(page, query)
        if FOLDERS[language] + path not in found[:FIRST]:
            missed[query] = found
    assert missed == {}
    assert sum(map(len, QUERIES.values())) >= 30


@every_lesson
def test_language_switch_keeps_the_section(reader, path):
    page = reader.begin("wide").open("zh", path)
    heading = page.locator("article h2").nth(3)
    heading.scroll_into_view_if_needed()
    page.evaluate("id => document.getElementById(id).scrollIntoView()", heading.get_attribute("id"))
    switch_language(page, "en")
    reader.at("en", path)
    assert page.url.endswith(f"#{heading.get_attribute('id')}")


def test_a_visitor_at_the_root_is_told_of_the_other_language_in_that_language(scriptless):
    for language, other in (("zh", "en"), ("en", "zh")):
        page = scriptless.begin("phone").open(language, "")
        hint = page.locator(f"p.other[lang={other}]")
        expect(hint).to_be_visible()
        hint.locator("a").click()
        scriptless.at(other, "")


# Weight, and steadiness


@places(PAGES, screens=["phone"])
def test_a_page_weighs_little_and_asks_for_no_search_index(opened):
    page = opened.page
    session = opened.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes, asked = {}, {}
    session.on("Network.requestWillBeSent", lambda event: asked.update({event["requestId"]: event["request"]["url"]}))
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    page.goto(page.url.partition("#")[0], wait_until="networkidle")
    loaded = {asked[request]: size for request, size in sizes.items() if request in asked}
    assert len(loaded) > 3
    assert sum(loaded.values()) <= HEAVIEST, loaded
    assert not [url for url in loaded if "search_index" in url]
    page.locator("#__search").evaluate(
        "toggle => { toggle.checked = true; toggle.dispatchEvent(new Event('change', {bubbles: true})) }"
    )
    page.wait_for_timeout(300)
    assert [url for url in asked.values() if "search_index" in url]
    session.detach()


@places(KINDS)
def test_nothing_moves_while_a_page_loads(opened):
    page = opened.page
    page.add_init_script(SHIFT)
    slow = opened.context.new_cdp_session(page)  # a slow processor draws what has arrived before the rest is there
    slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(page.url.partition("#")[0], wait_until="networkidle")
    page.wait_for_timeout(150)
    slow.detach()
    assert page.evaluate("window.shifted") == 0


@places(PAGES)
def test_what_is_laid_out_later_begins_below_the_screen(opened):
    waiting = opened.page.locator(".stretch").first
    if opened.path in LESSONS:
        assert waiting.count() == 1
    if waiting.count():
        assert waiting.evaluate("stretch => stretch.getBoundingClientRect().top + scrollY") > TALLEST


@places(LESSONS, languages=["zh"])
def test_a_page_opened_at_a_section_stays_there_while_the_rest_is_laid_out(opened):
    page = opened.page
    heading = page.locator("article h2").nth(-2)
    place, section = page.url.partition("#")[0], heading.get_attribute("id")
    page.goto("about:blank")
    page.goto(f"{place}#{section}")
    assert page.locator(".stretch").count() > 3
    laid_out(page)
    where = "heading => heading.getBoundingClientRect().top"
    assert 0 < heading.evaluate(where) < BELOW_HEADER
    assert_in_sight(heading)


# For everybody


@pytest.mark.parametrize("screen", SCREENS)
@every_language
def test_the_colour_scheme_is_the_systems_until_the_reader_chooses_one(reader, language, screen):
    page = reader.begin(screen, "dark").open(language, LESSONS[0])
    body, root = page.locator("body"), page.locator("html")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    page.emulate_media(color_scheme="light")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    for chosen, scheme in (("light", "default"), ("dark", "slate"), ("system", "slate"), ("light", "default")):
        page.locator(".schemes button:visible").click()
        expect(root).to_have_attribute("data-scheme", chosen)
        expect(body).to_have_attribute("data-md-color-scheme", scheme)
        assert_in_sight(page.locator(f".schemes [value={chosen}]"))
        expect(page.locator(".schemes button:focus")).to_have_attribute("value", chosen)
    tint = page.locator("meta[name=theme-color]")
    expect(tint).to_have_attribute("content", re.compile(r"rgb"))
    light = tint.get_attribute("content")
    switch_language(page, "en" if language == "zh" else "zh")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Escape")
    page.locator(".schemes button:visible").focus()
    page.keyboard.press("Enter")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    assert tint.get_attribute("content") != light
    assert reader.faults == []


@every_language
def test_the_first_thing_drawn_in_the_dark_is_dark(browser, server, language):
    context = browser.new_context(color_scheme="dark", viewport=SCREENS["phone"])
    page = context.new_page()
    page.add_init_script(DRAWN)
    page.goto(address(server, language, LESSONS[0]), wait_until="networkidle")
    assert set(page.evaluate("window.drawn")) == {"slate"}
    context.close()


@pytest.mark.parametrize("screen", SCREENS)
@every_language
def test_axe_finds_nothing(reader, language, screen):
    found = []
    for path in KINDS:
        page = reader.begin(screen).open(language, path)
        unfold(page)
        page.evaluate(ALIKE)
        for scheme, palette in (("light", "default"), ("dark", "slate")):
            page.emulate_media(color_scheme=scheme)
            expect(page.locator("body")).to_have_attribute("data-md-color-scheme", palette)
            page.wait_for_timeout(300)  # until what unfolds has unfolded, and colours are what they will be
            response = Axe().run(page, options={"resultTypes": ["violations"]}).response
            found += [
                f"{path} ({scheme}): {rule['id']}: {node['html'][:120]} {node['any'][0]['message'] if node['any'] else ''}"
                for rule in response["violations"]
                for node in rule["nodes"][:3]
            ]
    assert found == []


@places([*LESSONS, "receipts/"], screens=["wide"])
def test_print_shows_everything(opened):
    page = opened.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    hidden = page.locator("article pre > code").evaluate_all(
        "codes => codes.filter(code => !code.checkVisibility() || code.scrollHeight > code.clientHeight + 2).length"
    )
    assert hidden == 0
    page.set_viewport_size(PAPER)
    cut = page.locator("article table").evaluate_all(
        "(tables, edge) => tables.filter(table => table.getBoundingClientRect().right > edge).length", PAPER["width"]
    )
    assert cut == 0
    page.set_viewport_size(SCREENS["wide"])
    for furniture in (".md-header", ".sides", ".md-sidebar", ".md-footer"):
        assert not page.locator(furniture).first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")


# To take along


@every_language
def test_the_zip_works_from_the_file_system(browser, site, tmp_path, language):
    with zipfile.ZipFile(site / "downloads" / f"{offline.NAME}.zip") as archive:
        archive.extractall(tmp_path)
    context = browser.new_context(viewport=SCREENS["wide"])
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    home = f"file://{tmp_path}/{offline.NAME}{FOLDERS[language]}index.html"
    page.goto(home)
    query, path = next((query, path) for query, path in QUERIES[language].items() if path in LESSONS)
    found = search(page, query)
    assert any(result.endswith(f"{FOLDERS[language]}{path}index.html") for result in found), found
    page.goto(home.replace("index.html", "lessons/index.html"))
    page.locator(f"article a[href*='{LESSONS[0]}index.html']").first.click()
    expect(page.locator("article h1")).to_be_visible()
    switch_language(page, "en" if language == "zh" else "zh")
    expect(page.locator("article h1")).to_be_visible()
    assert faults == []
    context.close()


@every_language
def test_every_page_is_there_as_markdown_with_its_outputs(site, language):
    listed = (site / "llms.txt").read_text()
    for source in shelf.pages(language):
        address = shelf.address(source)
        text = (site / address / "index.md").read_text()
        assert f"{address}index.md" in listed
        assert text.startswith("# ")
        assert not re.search(r'^ *(?:!!!|\?\?\?) |^ *=== "|\{\{|\ue000', text, re.MULTILINE)
    for one in lessons():
        source = next(source for source in shelf.pages(language) if shelf.stem(source) == one.name)
        text = (site / shelf.address(source) / "index.md").read_text()
        for run in (claims.side(one, "burn"), claims.side(one, "pytorch")):
            for output in run.result.output.values():
                assert not output.strip() or output.split("\n")[0] in text


def test_the_sitemap_lists_every_page(site):
    text = (site / "sitemap.xml").read_text()
    for language in FOLDERS:
        for source in shelf.pages(language):
            assert f"{shelf.address(source)}</loc>" in text
