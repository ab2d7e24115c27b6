"""The module that mkdocs-macros loads: gives each page the calls and the values of `scripts.say.Page`."""

from scripts import plain
from scripts.say import Page

page: Page | None = None


def define_env(env) -> None:
    """Nothing is common to all pages: `on_pre_page_macros` registers what a page may name."""


def on_pre_page_macros(env) -> None:
    """Before a page is rendered: make its calls and its lesson's values the variables of its expressions."""
    global page
    page = Page(env.page.file.src_uri)
    env.variables.update(page.calls())


def on_post_page_macros(env) -> None:
    """After it: put the blocks in place of their tokens."""
    plain.pages[page.source] = page.expand(env.markdown, plain=True)
    env.markdown = page.expand(env.markdown)
