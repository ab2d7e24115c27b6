"""Plots: the same numbers give the same drawing, which stands in a page with whatever else is there."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from scripts import plots

STEPS = np.arange(1, 101)
PLOT = plots.plot("falling", "Loss & co | step | loss | one | two", ("1-", "2o"), log=False)
CHINESE = plots.plot("falling", "损失 | 步 | 损失（对数） | 甲 | 乙", ("1.-", "2:"), log=True)
DATA = [(STEPS, np.exp(-STEPS / 30)), (STEPS, 1e-9 * np.exp(-STEPS / 30))]


def drawn(plot: plots.Plot, data=DATA) -> ElementTree.Element:
    return ElementTree.fromstring(plots.draw(plot, data))


@pytest.mark.parametrize("plot", [PLOT, CHINESE], ids=["linear", "logarithmic"])
def test_same_numbers_same_bytes(plot):
    first = plots.draw(plot, DATA)
    plots.figure.cache_clear()
    assert plots.draw(plot, DATA) == first
    assert len(first) < 30_000


@pytest.mark.parametrize("plot", [PLOT, CHINESE], ids=["linear", "logarithmic"])
def test_text_is_text_and_says_what_is_drawn(plot):
    figure = drawn(plot)
    said = " ".join(figure.itertext())
    for text in (plot.title, plot.x, plot.y, *plot.series):
        assert text in said
    svg = figure.find(f"{{{plots.SVG}}}svg")
    assert svg.get("role") == "img"
    labels = [element.text for element in svg if element.get("id") in svg.get("aria-labelledby").split()]
    assert labels[0] == plot.title and len(labels) == 2


def test_ids_are_used_and_belong_to_the_plot():
    for name in ("one", "two"):
        text = plots.draw(plots.plot(name, "t | x | y | s", ("1o",), log=False), DATA[:1])
        ids = re.findall(r'\bid="([^"]+)"', text)
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', text) + re.findall(r'labelledby="([^"]+)"', text)[0].split()
        assert ids and sorted(ids) == sorted(set(used))
        assert all(id.startswith(f"plot-{name}-") for id in ids)


def test_only_the_style_sheet_decides_colours_and_fonts():
    text = plots.draw(PLOT, DATA)
    assert not re.search(r"#[0-9a-f]{6}\b|font-family|<style|<metadata|ns\d:", text)
    assert {"var(--plot-1)", "var(--plot-2)", "var(--plot-text)"} <= set(re.findall(r"var\([^)]*\)", text))


@pytest.mark.parametrize(
    "plot, data, said",
    [
        (PLOT, DATA[:1], "1 series"),
        (CHINESE, [DATA[0], (STEPS, np.zeros(100))], "not positive"),
        (PLOT, [DATA[0], (STEPS, np.full(100, np.nan))], "not finite"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(plot, data, said):
    with pytest.raises(ValueError, match=said):
        plots.draw(plot, data)
