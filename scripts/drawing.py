"""Mermaid itself, in the system's Chromium, cut off from the network, draws a diagram as SVG for both colour schemes.

`scripts/mermaid/` pins mermaid and holds what it is told (`config.json`) and what makes its SVG small (`draw.js`).
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts import npm
from scripts.problems import Problem, Stop

NPM = Path(__file__).resolve().parent / "mermaid"
SCHEMES = ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def config() -> dict[str, dict]:
    """What mermaid is told: `common` to all drawings, and `light` and `dark` with the colours of each scheme."""
    return json.loads((NPM / "config.json").read_text())


def key(source: str) -> str:
    """16 hex digits of all that decides what is drawn: mermaid's version, what it is told, `draw.js`, the source."""
    text = "\n".join(line.rstrip() for line in source.splitlines()).strip("\n")
    parts = [npm.version("mermaid"), config(), (NPM / "draw.js").read_text(), text]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def found() -> str:
    """The system's Chromium. Raises `Stop` where there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        raise Stop(Problem("the browser", f"found none of {', '.join(BROWSERS)}", "install Chromium: make browser"))
    return program


@contextmanager
def browser() -> Iterator[tuple]:
    """A page of the browser that has loaded the pinned mermaid, and the browser's version."""
    from playwright.sync_api import sync_playwright

    program = found()
    package = npm.package("mermaid")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--font-render-hinting=none"]
        chromium = playwright.chromium.launch(executable_path=program, args=arguments)
        page = chromium.new_context(offline=True).new_page()
        page.add_script_tag(path=package / "dist" / "mermaid.min.js")
        yield page, chromium.version
        chromium.close()


def draw(sources: dict[str, str]) -> dict[str, dict[str, str]]:
    """Draw each source; `sources` is keyed by the place that a problem names.

    By key of the source: the SVG of each scheme, and the versions of `mermaid` and `browser`.
    Raises Stop with every source that mermaid rejects, in mermaid's words.
    """
    from playwright.sync_api import Error

    if not sources:
        return {}
    script, settings, drawn, problems = (NPM / "draw.js").read_text().rstrip("\n;"), config(), {}, []
    with browser() as (page, browser_version):
        for where, source in sources.items():
            name = key(source)
            drawn[name] = {"mermaid": npm.version("mermaid"), "browser": browser_version}
            try:
                for scheme in SCHEMES:
                    told = settings["common"] | settings[scheme]
                    told["themeCSS"] = "\n".join(settings["common"]["themeCSS"] + settings[scheme]["themeCSS"])
                    asked = {"id": f"d{name}-{scheme}", "source": source, "config": told}
                    drawn[name][scheme] = page.evaluate(script, asked)
            except Error as error:
                said = error.message.removeprefix("Page.evaluate: ").split("\n    at ")[0]
                problems.append(
                    Problem(where, f"mermaid can't draw the diagram, and says “{said}”", "the diagram's source")
                )
    if problems:
        raise Stop(*problems)
    return drawn
