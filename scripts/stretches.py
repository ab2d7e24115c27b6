"""What stands between two headings of a page, as one element each, which the style sheet has laid out when it is needed."""

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

HEADINGS = {"h2", "h3", "h4"}
AT_ONCE = 12  # lines from the top: what comes after them begins below a screen of 1440 pixels, as a test sees


def lines(block: Element) -> int:
    """How many lines with space around them a block has at the least: one for each paragraph, heading, row, item and piece
    of code.

    The two sides of a pair may stand beside each other, or one of them behind the other; what is folded has its title.
    """
    if block.tag == "details":
        return 1
    own = block.tag in HEADINGS | {"h1", "p", "pre", "tr"} or (block.tag == "li" and block.find("p") is None)
    within = sum(map(lines, block))
    return own + (within // 2 if block.get("class") == "pair" else within)


class Stretches(Treeprocessor):
    """Wrap all that follows a heading, up to the next, into `<div class="stretch">`, with the lines that it has at least.

    What is seen at once stays as it is: it would move while it is laid out.
    """

    def run(self, root: Element) -> None:
        page, stretch, above = [], None, 0
        for block in root:
            if block.tag in HEADINGS:
                stretch = Element("div", {"class": "stretch"}) if above >= AT_ONCE else None
            if block.tag in HEADINGS or stretch is None:
                page.append(block)
            else:
                if len(stretch) == 0:
                    page.append(stretch)
                stretch.append(block)
            above += lines(block)
        root[:] = page
        for block in root:
            if block.get("class") == "stretch":
                block.set("style", f"--lines: {lines(block)}")


class StretchesExtension(Extension):
    """The extension of Python-Markdown, for `markdown_extensions` of mkdocs.yml."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(Stretches(md), "stretches", -10)  # the last: footnotes and the like are there


def makeExtension(**options) -> Extension:
    """Called by Python-Markdown, which knows the extension by this module's name."""
    return StretchesExtension(**options)
