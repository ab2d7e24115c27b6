"""What stands between two headings of a page, as one element each, which the style sheet has laid out when it is needed."""

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

HEADINGS = {"h2", "h3", "h4"}
AT_ONCE = 12  # lines from the top: what comes after them begins below a screen of 1440 pixels, as a test sees


def lines(block: Element) -> int:
    """How many lines with space around them a block has at the least: one for each paragraph, item and piece of code.

    The two sides of a pair may stand beside each other, or one of them behind the other.
    """
    found = sum(
        each.tag in HEADINGS | {"p", "pre"} or (each.tag == "li" and each.find("p") is None) for each in block.iter()
    )
    return max(1, found // 2 if block.get("class") == "pair" else found)


class Stretches(Treeprocessor):
    """Wrap all that follows a heading, up to the next, into `<div class="stretch">`, with the lines that it has at least.

    What is seen at once stays as it is: it would move while it is laid out.
    """

    def run(self, root: Element) -> None:
        begins, stretches, above = False, [], 0
        for block in list(root):
            if block.tag in HEADINGS:
                begins = above >= AT_ONCE
            elif begins:
                stretches.append(Element("div", {"class": "stretch"}))
                root.insert(list(root).index(block), stretches[-1])
                begins = False
            if stretches and block.tag not in HEADINGS:
                root.remove(block)
                stretches[-1].append(block)
            above += lines(block)
        for stretch in stretches:
            stretch.set("style", f"--lines: {lines(stretch)}")


class StretchesExtension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(Stretches(md), "stretches", -10)  # the last: footnotes and the like are there


def makeExtension(**options) -> Extension:
    return StretchesExtension(**options)
