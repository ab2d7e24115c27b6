"""What pages call, and the parts of sections: the cases that no page of the site shows."""

import textwrap

import pytest

from scripts import plain, say
from scripts.lessons import Code, Lesson, parse_sections
from scripts.offline import index, page
from scripts.problems import Stop

SOURCE = "main-line/training-loop.zh.md"
PROGRAM = """
# --8<-- [start:train]

# --8<-- [part:forward]
loss = model(x)

# --8<-- [part:]
seen += 1
# --8<-- [part:backward]
loss.backward()
# --8<-- [part:forward]
model(x)
# --8<-- [end:train]
"""


def test_parts_are_the_lines_from_their_mark_to_the_next():
    code = parse_sections(PROGRAM, "here")["train"]
    assert code.split("\n") == ["loss = model(x)", "", "seen += 1", "loss.backward()", "model(x)"]
    assert code.parts == {"forward": [range(1), range(4, 5)], "backward": [range(3, 4)]}


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (PROGRAM + "# --8<-- [part:late]\n", "part 'late' is in no section"),
        (PROGRAM.replace("[part:]", "[part:nothing]\n# --8<-- [part:]"), "part 'nothing' of section 'train' is empty"),
    ],
)
def test_a_part_that_marks_nothing_is_an_error(program, said):
    with pytest.raises(Stop, match=said):
        parse_sections(program, "here")


def test_a_part_on_one_side_only_is_an_error(monkeypatch):
    sections = Lesson.sections

    def renamed(lesson, side):
        found = sections(lesson, side)
        if side == "burn":
            code = found["train"]
            found["train"] = Code(code, {f"{name}s": lines for name, lines in code.parts.items()})
        return found

    monkeypatch.setattr(Lesson, "sections", renamed)
    with pytest.raises(Stop, match=r"training-loop/pytorch.py \[train\] and .*burn.rs \[train\] have other parts"):
        say.Page(SOURCE).pair("train")


def test_options_have_letters_in_the_order_in_which_they_are_asked():
    page = say.Page(SOURCE)
    asked = [page.option(name) for name in ("one", "two")]
    page.teaser("first")
    asked += [page.option("three"), page.option("two")]
    assert [text.rpartition("<")[0].rpartition(">")[2] for text in asked] == ["A", "B", "A", "B"]
    assert [text.startswith("<b ") for text in asked] == [True, True, True, False]
    with pytest.raises(Stop, match="the brain-teaser 'first' has no option 'four'"):
        page.answer("first", "four")


def test_a_page_says_what_to_read_before_it():
    page = say.Page(SOURCE)
    page.meta = {"needs": ["train-to-convergence"]}
    text = page.expand("# 标题 { #title }\n\n正文\n")
    assert text.startswith(
        "# 标题 { #title }\n\n先读：[训练到收敛](../hands-on/train-to-convergence.md)\n{: .needs }\n"
    )


def test_the_mark_of_a_claim_stays_with_the_word_before_it():
    assert say.Page(SOURCE).expand("so {0}\n{0}".format('<a class="claim">✓</a>')).count("\u00a0<a") == 2


def test_the_markdown_edition_keeps_code_and_loses_what_only_the_site_knows():
    text = textwrap.dedent(
        """\
        # Title { #title }

        See [the loop](training-loop.md#train), `Tensor<2>` and <span id="x"></span>more{ .asked }.

        !!! note "No dumb questions"

            **Q: `a < b > c`?**

            ```text
            <b> !!! note "kept" { #kept }
            ```

        After it.
        """
    )
    told = plain.edition(text, "main-line/numerics.en.md", "https://site.example/")
    assert told == textwrap.dedent(
        """\
        # Title

        See [the loop](https://site.example/en/main-line/training-loop/index.md#train), `Tensor<2>` and more.

        > **No dumb questions**
        >
        > **Q: `a < b > c`?**
        >
        > ```text
        > <b> !!! note "kept" { #kept }
        > ```

        After it.
        """
    )


def test_offline_pages_name_index_html():
    text = '<a href="../lessons/#x">a</a> <a href=..>b</a> <a href="#y">c</a> <link href="a.css"> <a href="https://x/">d</a>'
    assert page(text) == (
        '<a href="../lessons/index.html#x">a</a> <a href="../index.html">b</a> <a href="#y">c</a> '
        '<link href="a.css"> <a href="https://x/">d</a>'
    )
    assert '"location":"lessons/index.html#x"' in index('{"docs":[{"location":"lessons/#x"}]}')
