"""The site as plain Markdown: each page with its code and outputs, and llms.txt, which lists them."""

import posixpath
import re
from pathlib import Path

from scripts import shelf

pages: dict[str, str] = {}  # the expanded plain text of each page that was rendered, by its source
FENCE = re.compile(r"^ *(`{3,})(.*)$")
CALLOUT = re.compile(r'^( *)(?:!!!|\?\?\?\+?) [\w ]+?"(.*)"$')
ATTRIBUTES = re.compile(r" ?\{:? ?[#.][^{}\n]*\}")
BREAK = re.compile(r"<br ?/?>")
TAG = re.compile(r"</?[a-zA-Z][^<>\n]*>")
LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)#\s]+)\.md(#[^)\s]+)?\)")
ABOUT = {
    "zh": "会 PyTorch 的人学 burn（Rust 的深度学习框架）。页面上的代码都跑过，输出和数字都来自运行。",
    "en": "burn, the deep-learning framework for Rust, for people who know PyTorch. All code was run; outputs and figures come from the runs.",
}


def edition(text: str, source: str, site_url: str) -> str:
    """A page's expanded Markdown without what only the site understands: attributes, HTML, kinds of callouts.

    Links to pages lead to their Markdown edition.
    """
    language = source.split(".")[-2]

    def link(match: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        return f"]({site_url}{shelf.address(f'{target}.{language}.md')}index.md{match[2] or ''})"

    def plain(text: str) -> str:
        """Without tags and attributes, but for those in code spans."""
        pieces = re.split(r"(`[^`]*`)", text)
        pieces[::2] = (TAG.sub("", BREAK.sub(" / ", ATTRIBUTES.sub("", piece))) for piece in pieces[::2])
        return LINK.sub(link, "".join(pieces))

    out, closing, quoted = [], None, None
    for line in text.split("\n"):
        if quoted is not None and line.strip() and not line.startswith(quoted):
            quoted = None
        margin = f"{quoted[4:]}> " if quoted is not None else ""
        line = line[len(quoted or "") :]
        fence, callout = FENCE.match(line), CALLOUT.match(line)
        if closing is None and callout:
            quoted = (quoted or "") + callout[1] + "    "
            line, margin = f"**{callout[2]}**", f"{quoted[4:]}> "
        elif closing is None and not fence:
            line = plain(line)
        elif closing is None:
            closing = fence[1]
        elif fence and fence[1] == closing and not fence[2]:
            closing = None
        out.append((margin + line).rstrip())
    whole = re.sub(r"\n>(?=\n(?!>))", "\n", "\n".join(out))  # the empty lines behind a callout are not its own
    return re.sub(r"\n{3,}", "\n\n", whole).strip() + "\n"


def write(site: Path, site_url: str) -> None:
    """Write the Markdown edition of every page beside it, and llms.txt, into the folder `site`.

    `site_url` ends with a slash.
    """
    for source, text in pages.items():
        path = site / shelf.address(source) / "index.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(edition(text, source, site_url))
    (site / "llms.txt").write_text(index(site_url))


def index(site_url: str) -> str:
    """llms.txt (llmstxt.org): what the site is, and its pages with what each is about, in both languages."""
    parts = ["# From PyTorch to burn", f"> {ABOUT['en']}\n> {ABOUT['zh']}"]
    for language, name in (("en", "English"), ("zh", "中文")):
        lines = [
            f"- [{shelf.title(source)}]({site_url}{shelf.address(source)}index.md): {shelf.description(source)}"
            for source in shelf.pages(language)
        ]
        parts.append(f"## {name}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"
