"""What a page may call to speak of its lesson, or of the site, as a whole: receipts, versions, downloads and lists.

Each call takes the page that makes it, see `scripts.say`, and returns Markdown or the token of a block.
"""

from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from scripts import capture, execute, machine, notebook, offline, shelf
from scripts.blocks import indent, markdown_table
from scripts.claims import Agreement, evaluated
from scripts.compare import Comparison

if TYPE_CHECKING:
    from scripts.say import Page

NUMERICS = "main-line/numerics"  # the page that tells how to read a receipt
MANY = 1_000_000  # ulp, from where on only their order says something


# The site as a whole


def all_lessons(page: "Page") -> str:
    """Every lesson in the order of reading: what it settles, and the lessons to read before it."""
    sources = shelf.lesson_pages(page.language)
    links = {shelf.stem(source): page.link(source) for source in sources}
    blocks = []
    for source in sources:
        needs = " · ".join(links[name] for name in shelf.needs(source) if name in links)
        after = f"\n\n    {page.word('needs')}{needs}\n    {{: .needs }}" if needs else ""
        blocks.append(f"1.  **{links[shelf.stem(source)]}**\n\n    {shelf.description(source)}{after}")
    return page.block("\n\n".join(blocks))


def all_comparisons(page: "Page") -> str:
    """Every comparison of the site, as far as its values are apart, with its verdict; a table to sort and filter."""
    rows = []
    for source in shelf.lesson_pages(page.language):
        found = evaluated(shelf.stem(source))
        burn = capture.provenance(found.lesson)["burn"]
        for name, (stated, comparison) in found.agreements.items():
            ulp = comparison.worst.ulp
            rows.append(
                [
                    page.link(source, "#receipt"),
                    f"`{name}`",
                    str(sum(line.count for line in comparison.lines)),
                    page.sci(comparison.worst.difference, 3),
                    "" if ulp is None else str(ulp) if ulp < MANY else page.sci(ulp),
                    page.sci(stated.within, 1),
                    verdict(page, stated, comparison),
                    f"{machine.torch()} / {burn}",
                ]
            )
    heads = ("lesson", "comparison", "numbers", "worst", "ulp", "tolerance", "verdict", "torch / burn")
    named = [page.word(head) for head in heads]
    box = (
        f'<input type="search" class="md-input" placeholder="{page.word("filter")}" aria-label="{page.word("filter")}">'
    )
    bar = f'<span class="filter">{box} <span role="status"></span></span>'
    table = markdown_table([f'<button type="button">{head}</button>' for head in named], rows)
    block = f'<div class="sortable" markdown="1">\n\n{bar}\n\n{table}\n\n</div>'
    return page.block(block, markdown_table(named, rows))


def all_teasers(page: "Page") -> str:
    """Every brain-teaser's question, below its lesson, with a link to it."""
    blocks = []
    for source in shelf.lesson_pages(page.language):
        asking = type(page)(source)
        for teaser in shelf.teasers(source):
            question = Environment(undefined=StrictUndefined).from_string(teaser.question).render(asking.calls())
            link = f"{page.link(source, f'#{teaser.id}')}{{ .asked }}"
            blocks.append(f"1.  {indent(question).lstrip()}\n\n    {link}")
    return page.block("\n\n".join(blocks))


# The lesson as a whole


def versions(page: "Page") -> str:
    """One line: the versions that this page ran on."""
    about = capture.provenance(page.evaluated.lesson)
    torch = f"PyTorch {machine.torch()} (CPU, {page.word('one thread')})"
    return f"{torch} · burn {about['burn']} (Flex; {page.word('features')}: {', '.join(about['features'])})"


def receipt(page: "Page") -> str:
    """Versions, machines, commands, every comparison with its worst distance and tolerance, every claim."""
    found = page.evaluated
    lesson, about, word = found.lesson, capture.provenance(found.lesson), page.word
    sides = [
        ["PyTorch", f"{machine.torch()}, Python {machine.python()}, {word('one thread')}", machine.processor()],
        ["burn", f"{about['burn']}, rustc {about['rustc']}", f"{about['processor']}, {about['date']}"],
    ]
    main = lesson.runs["main"]
    commands = [
        ["PyTorch", f"`{execute.command(lesson, main)}`"],
        ["burn", f"`{capture.command(lesson, main)}`"],
        [word("compares"), f"`python -m scripts.compare {lesson.name}`"],
        [word("all of it"), "`make test`"],
    ]
    comparisons = [
        [
            f"`{name}`",
            f"{page.sci(comparison.worst.difference, 3)} ({comparison.worst.name})",
            page.sci(stated.within, 1),
            verdict(page, stated, comparison),
            stated.because[page.language],
        ]
        for name, (stated, comparison) in found.agreements.items()
    ]
    claims = [f'- <span id="claim-{name}"></span>✓ {found.sentences[name][page.language]}' for name in found.claims]
    return page.block(
        "\n\n".join(
            [
                markdown_table([word("side"), word("version"), word("where")], sides),
                f'<span id="repeat"></span>**{word("repeat")}**',
                markdown_table([word("repeats"), word("command")], commands),
                markdown_table(
                    [word(k) for k in ("comparison", "worst", "tolerance", "verdict", "reason")], comparisons
                ),
                f"[{word('reading')}]({page.towards(f'{NUMERICS}.{page.language}.md')}#tolerance)",
                f"**{word('claims')}**" if claims else "",
                "\n".join(claims),
            ]
        )
    )


def verdict(page: "Page", stated: Agreement, comparison: Comparison) -> str:
    """OK or MISMATCH, as the lesson states it; where it states neither, as it is on this machine."""
    told = "OK" if comparison.agrees else "MISMATCH"
    return f"{told} ({page.word('on this machine')})" if stated.agrees is None else told


def downloads(page: "Page") -> str:
    """Links to what a reader can take home: the zip of both programs and, where the lesson has one, the notebook."""
    name = page.evaluated.lesson.name
    links = [f'<a href="{page.root}downloads/{name}.zip">{name}.zip</a>']
    if notebook.source(page.evaluated.lesson).exists():
        file = f"{name}.{page.language}.ipynb"
        links.append(f'<a href="{page.root}downloads/{file}">{file}</a>')
    return " · ".join(links)


def whole_site(page: "Page") -> str:
    """The link to the zip of the whole site."""
    return f'<a href="{page.root}downloads/{offline.NAME}.zip">{offline.NAME}.zip</a>'


def lab(page: "Page") -> str:
    """The lesson's executed notebook, in the page's language."""
    return page.block(notebook.html(page.evaluated.lesson, page.language))


CALLS = (all_lessons, all_comparisons, all_teasers, versions, receipt, downloads, whole_site, lab)
