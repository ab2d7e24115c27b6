"""Draw a lesson's plots: SVG to stand in a page, in the reader's colours and with its text as text.

matplotlib draws; then what only a file of its own needs is taken out, and what a page needs is put in: ids that no
other drawing has, colours and fonts that the style sheet decides (docs/assets/plots.css), a title and a description
for those who do not see it. The same numbers give the same bytes.
"""

import hashlib
import io
import logging
import os
import re
import warnings
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from scripts.lessons import ROOT

STORE = ROOT / ".cache" / "plots"
SVG = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 400, 260  # of the drawing, in pixels; the page scales it
# Colours that matplotlib writes in place of those of the style sheet.
COLOURS = {f"#0000f{n}": f"var(--plot-{n})" for n in range(1, 5)}
COLOURS |= {"#0000e0": "var(--plot-text)", "#0000d0": "var(--plot-grid)"}
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#0000d0",
    "axes.grid": True,
    "axes.labelcolor": "#0000e0",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.xmargin": 0.02,
    "figure.dpi": 72,
    "font.family": "DejaVu Sans",  # comes with matplotlib, and serves for the layout alone
    "font.size": 12,
    "grid.color": "#0000d0",
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "plots",
    "xtick.color": "#0000e0",
    "xtick.major.size": 0,
    "ytick.color": "#0000e0",
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}
# A look is a colour from 1 to 4 and a shape: for each shape, matplotlib's options, and the stroke in the legend.
SHAPES = {
    "-": ({"linewidth": 1.8}, '<path d="M0 4h24" stroke-width="2"/>'),
    ":": ({"linewidth": 1.8, "linestyle": (0, (1, 1.6))}, '<path d="M0 4h24" stroke-width="2" stroke-dasharray="2 3"/>'),
    "o": ({"linestyle": "", "marker": "o", "markersize": 4.5, "markerfacecolor": "none", "markevery": 5},
          '<circle cx="12" cy="4" r="3"/>'),
    ".-": ({"linewidth": 1.4, "marker": "o", "markersize": 3.5},
           '<path d="M0 4h24" stroke-width="2"/><circle cx="12" cy="4" r="2"/>'),
}  # fmt: skip
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Plot:
    """What a plot says in one language, and how its series look (`1-`, `2o`, …: see SHAPES)."""

    name: str
    title: str
    x: str
    y: str
    series: tuple[str, ...]
    looks: tuple[str, ...]
    log: bool = False  # whether the y axis is logarithmic


def plot(name: str, written: str, looks: tuple[str, ...], log: bool) -> Plot:
    """The plot that is written as `title | x | y | series | …`."""
    title, x, y, *series = written.split(" | ")
    return Plot(name, title, x, y, tuple(series), looks, log)


def draw(plot: Plot, data: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """A figure in HTML, in one line: title, legend, drawing. `data` holds x and y of each series, in their order.

    Raises ValueError where there are not as many series as names and looks, or where a number can't be drawn.
    """
    if not len(data) == len(plot.series) == len(plot.looks):
        raise ValueError(f"{len(data)} series, {len(plot.series)} names and {len(plot.looks)} looks")
    if not all(np.isfinite(y).all() and (not plot.log or np.min(y) > 0) for _, y in data):
        raise ValueError("a number is not finite, or not positive on a logarithmic axis")
    return figure(plot, tuple((tuple(map(float, x)), tuple(map(float, y))) for x, y in data))


@cache
def figure(plot: Plot, data: tuple) -> str:
    entries = [
        f'<li><svg viewBox="-1 0 26 8" aria-hidden="true" style="color: var(--plot-{look[0]})">{SHAPES[look[1:]][1]}'
        f"</svg>{escape(name)}</li>"
        for name, look in zip(plot.series, plot.looks, strict=True)
    ]
    caption = f"{escape(plot.title)}<ul>{''.join(entries)}</ul><small>{escape(plot.y)}</small>"
    drawing = page_svg(kept_svg(plot, data), plot, describe(plot, data))
    return f'<figure class="plot" data-search-exclude=""><figcaption>{caption}</figcaption>{drawing}</figure>'


def kept_svg(plot: Plot, data: tuple) -> bytes:
    """What matplotlib drew for these numbers, kept from build to build: importing it takes longer than drawing."""
    depends = (plot, data, version("matplotlib"), Path(__file__).read_text())
    kept = STORE / f"{hashlib.sha256(repr(depends).encode()).hexdigest()[:16]}.svg"
    if not kept.exists():
        STORE.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(matplotlib_svg(plot, data))
        os.replace(partial, kept)
    return kept.read_bytes()


def matplotlib_svg(plot: Plot, data: tuple) -> bytes:
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells when it reads the machine's fonts anew
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        drawn = Figure((WIDTH / 72, HEIGHT / 72))
        axes = drawn.add_axes((0.115, 0.17, 0.865, 0.79))
        for look, (x, y) in zip(plot.looks, data, strict=True):
            axes.plot(x, y, color=f"#0000f{look[0]}", **SHAPES[look[1:]][0])
        axes.set_xlabel(plot.x)
        if plot.log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda y, _: f"10{str(round(np.log10(y))).translate(SUPERSCRIPT)}")
        else:
            axes.set_ylim(bottom=0)
        file = io.BytesIO()
        drawn.savefig(file, format="svg", transparent=True)
        return file.getvalue()


def describe(plot: Plot, data: tuple) -> str:
    """The plot in words: where each series begins and ends."""
    ends = [
        f"{name}: {y[0]:.2g} ({plot.x} {x[0]:g}) → {y[-1]:.2g} ({plot.x} {x[-1]:g})"
        for name, (x, y) in zip(plot.series, data, strict=True)
    ]
    return f"{plot.y}. {'; '.join(ends)}"


def page_svg(svg: bytes, plot: Plot, description: str) -> str:
    """matplotlib's drawing as it stands in a page."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    prefix = f"plot-{plot.name}"
    for element in root.iter():
        element.text, element.tail = (element.text or "").strip() or None, None
        for name, value in list(element.attrib.items()):
            if name in ("d", "x", "y", "transform"):
                value = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
                value = re.sub(r"rotate\(-0 [^)]*\)", "", re.sub(r"\s+", " ", value).strip())
            elif name == "style":
                value = re.sub(r"font-[^;]*;\s*", "", value)
            elif name == "id":
                value = f"{prefix}-{value}"
            del element.attrib[name]
            element.set(name.rpartition("}")[2], re.sub(r"url\(#|^#(?![0-9a-f]{6}$)", rf"\g<0>{prefix}-", value))
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    for name, said in (("desc", description), ("title", plot.title)):
        element = ElementTree.Element(f"{{{SVG}}}{name}", {"id": f"{prefix}-{name}"})
        element.text = said
        root.insert(0, element)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    text = ElementTree.tostring(root, encoding="unicode")
    for stand_in, colour in COLOURS.items():
        text = text.replace(stand_in, colour)
    return text.replace(' transform=""', "").replace("<g />", "")
