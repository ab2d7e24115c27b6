"""The built site holds, and each thing that could be wrong in it is seen: a table of faults made in a built copy."""

import re
import shutil
from pathlib import Path

import pytest

from scripts.check_site import check

PAGE = "main-line/training-loop/index.html"


def test_the_built_site_holds(site):
    problems = check(site)
    assert not problems, "\n".join(map(str, problems))


def replace(path: str, old: str, new: str, count: int = 1):
    def fault(site: Path) -> None:
        text = (site / path).read_text()
        assert old in text, old
        (site / path).write_text(text.replace(old, new, count))

    return fault


def body(extra: str, path: str = PAGE):
    return replace(path, "</article>", f"{extra}</article>")


FAULTS = {
    "no page at all": (lambda site: [path.unlink() for path in site.rglob("*.html")], r"there is no page in it"),
    "a file copied in place of a page": (
        lambda site: (site / PAGE).write_text('{"cells": []}'),
        r"training-loop/index\.html: it is no page",
    ),
    "a page in one language": (lambda site: (site / "en" / PAGE).unlink(), r"its twin en/main-line/\S+ is missing"),
    "the wrong lang": (replace(PAGE, '<html lang="zh"', '<html lang="en"'), r"its lang is 'en', not 'zh'"),
    "Chinese in English": (body("<p>中文</p>", f"en/{PAGE}"), r"the English page has Chinese in it"),
    "an English page in Chinese' place": (lambda site: shutil.copy(site / "en" / PAGE, site / PAGE), r"Chinese characters"),
    "no title": (lambda site: (site / PAGE).write_text(re.sub("<title>.*?</title>", "", (site / PAGE).read_text())), r"no title"),
    "two main headings": (body("<h1>x</h1>"), r"exactly one h1"),
    "other outputs in the other language": (body("<pre><code>x</code></pre>"), r"code blocks in zh, .* in en"),
    "an empty output": (lambda site: [body("<pre><code> </code></pre>", p)(site) for p in (PAGE, f"en/{PAGE}")], r"an empty code block"),
    "a macro left over": (body("<p>{{ num(x) }}</p>"), r"markup is left over in the text: '\{\{'"),
    "a callout left over": (body("<p>\n!!! note x</p>"), r"markup is left over in the text: '!!!'"),
    "a fence left over": (body("<p>\n```text</p>"), r"markup is left over"),
    "a token left over": (body("<p>\ue0001\ue001</p>"), r"markup is left over"),
    "a terminal escape": (body("<pre>\x1b[31m</pre>"), r"it has a control character"),
    "an annotation without its text": (
        lambda site: [body("<pre><code>x # (1)!</code></pre>", p)(site) for p in (PAGE, f"en/{PAGE}")],
        r"a code annotation has no text",
    ),
    "an id twice": (body('<p id="a"></p><p id="a"></p>'), r"ids are there twice: a"),
    "a generated id": (body('<h2 id="_1">x</h2>'), r"the generated id '_1'"),
    "a diagram left to the browser": (body('<pre class="mermaid">flowchart TD</pre>'), r"left to the browser"),
    "a script from elsewhere": (body('<script src="https://unpkg.com/x.js"></script>'), r"loads from elsewhere: https://unpkg"),
    "a picture from elsewhere": (body('<img src="//x.example/a.png">'), r"loads from elsewhere"),
    "a frame from elsewhere": (body('<iframe src="https://x.example/"></iframe>'), r"loads from elsewhere"),
    "a font from elsewhere": (body('<style>@font-face { src: url("https://x.example/f") }</style>'), r"loads from elsewhere"),
    "a connection to elsewhere": (replace(PAGE, "</head>", '<link rel="preconnect" href="https://x.example"></head>'), r"loads from"),
    "a link to no page": (body('<a href="../nowhere/">x</a>'), r"the link '\.\./nowhere/' goes nowhere: there is no such file"),
    "a link to no id": (body('<a href="#nowhere">x</a>'), r"the link '#nowhere' goes nowhere: \S+ has no id"),
    "a link to another page's missing id": (body('<a href="../../#nowhere">x</a>'), r"index\.html has no id 'nowhere'"),
    "a style from elsewhere": (
        lambda site: (site / "assets/site.css").write_text("a { background: url(http://x.example/a.png) }"),
        r"a style loads from elsewhere",
    ),
    "a page that search does not know": (
        replace("search/search_index.json", '"location":"main-line/training-loop/', '"location":"x/', -1),
        r"the index lacks the page 'main-line/training-loop/'",
    ),
    "Chinese words that search does not cut": (replace("search/search_index.json", r"\\u200b", ""), r"search separator"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault_in_the_site_is_named(site, tmp_path, name):
    fault, says = FAULTS[name]
    broken = tmp_path / "site"
    shutil.copytree(site, broken)
    fault(broken)
    found = "\n".join(map(str, check(broken)))
    assert re.search(says, found), found


def test_links_out_of_the_site_and_links_with_queries_are_left_alone(site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    body('<a href="https://burn.dev/#x">x</a><a href="mailto:a@b.example">x</a><a href="?q=a">x</a>')(tmp_path / "site")
    assert not check(tmp_path / "site")
