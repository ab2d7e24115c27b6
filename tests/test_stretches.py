"""What stands between two headings of a page is one element."""

import re

import markdown
import pytest

from scripts import stretches

TEXT = """\
# Title

Above.

## First { #first }

One.

```python
two()
```

### Second

Three.

## Third

## Fourth

!!! note "Five"

    ## inside

    Six.
"""


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(stretches, "AT_ONCE", 2)


@pytest.mark.usefixtures("at_once")
def test_what_follows_a_heading_is_one_element_up_to_the_next():
    extensions = ["attr_list", "admonition", "pymdownx.superfences", "toc"]
    plain, wrapped = (markdown.markdown(TEXT, extensions=extensions + more) for more in ([], [stretches.__name__]))
    tags = re.findall(r"<h\d|<p(?=>)|<div [^>]*>|</div>", wrapped.replace(' class="admonition-title"', ""))
    assert tags == [
        *("<h1", "<p"),
        *("<h2", '<div class="stretch" style="--lines: 2">', "<p", '<div class="highlight">', "</div>", "</div>"),
        *("<h3", '<div class="stretch" style="--lines: 1">', "<p", "</div>"),
        "<h2",
        *("<h2", '<div class="stretch" style="--lines: 3">', '<div class="admonition note">', "<p", "<h2", "<p"),
        *("</div>", "</div>"),
    ]
    unwrapped = re.sub(r'<div class="stretch"[^>]*>(.*?)</div>\s*(?=<h|\Z)', r"\1", wrapped, flags=re.DOTALL)
    assert "".join(unwrapped.split()) == "".join(plain.split())


@pytest.mark.parametrize(
    ("text", "least"),
    {
        "One.\n\nTwo.": 2,
        "- one\n- two\n\n    three": 3,
        "| a |\n| - |\n| 1 |\n| 2 |": 3,
        '<div class="pair" markdown>\n\nOne.\n\nTwo.\n\nThree.\n\nFour.\n\n</div>': 2,
        '??? note "Title"\n\n    One.\n\n    Two.': 1,
    }.items(),
    ids=["paragraphs", "items", "rows", "pair", "folded"],
)
@pytest.mark.usefixtures("at_once")
def test_a_stretch_tells_how_many_lines_it_has_at_least(text, least):
    extensions = ["md_in_html", "tables", "pymdownx.details", stretches.__name__]
    page = markdown.markdown(f"# Title\n\nAbove.\n\n## First\n\n{text}", extensions=extensions)
    assert f'<div class="stretch" style="--lines: {least}">' in page


def test_what_is_seen_at_once_stays_as_it_is():
    many = "\n\n".join(["One."] * stretches.AT_ONCE)
    text = f"# Title\n\n## First\n\n{many}\n\n## Second\n\nTwo."
    first, second = markdown.markdown(text, extensions=[stretches.__name__]).split("Second")
    assert "stretch" not in first
    assert "stretch" in second


def test_a_page_without_headings_stays_as_it_is():
    assert markdown.markdown("One.\n\nTwo.", extensions=[stretches.__name__]) == "<p>One.</p>\n<p>Two.</p>"
