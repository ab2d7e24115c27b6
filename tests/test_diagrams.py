"""Diagrams: each fault, made on purpose, is named; pages hold both drawings; mermaid draws the same bytes twice."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import markdown
import pytest
from pymdownx.superfences import SuperFencesException

from scripts import diagrams, drawing, npm
from scripts.problems import Problem, Stop

FLOW = """flowchart TD
  accTitle: One step
  accDescr: A batch goes through the model.
  batch["取一批"] -->|"values"| model[Forward pass]"""
OTHER = FLOW.replace("values", "more values")
PAGE = f"""# Page

```mermaid
{FLOW}
```

!!! note "Note"

    ```mermaid
{OTHER.replace("flowchart", "    flowchart", 1).replace(chr(10), chr(10) + "    ")}
    ```

````md
```mermaid
not a diagram
```
````
"""


def drawn(sources: dict[str, str]) -> dict[str, dict[str, str]]:
    """In the browser's place: SVGs that hold the labels, one `text` each, with an id that is used."""

    def svg(source: str, scheme: str) -> str:
        own = f"d{drawing.key(source)}-{scheme}"
        texts = "".join(f"<text>{label}</text>" for label in diagrams.labels(source))
        return (
            f'<svg id="{own}" xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title-{own}">'
            f'<title id="title-{own}">One step</title>{texts}</svg>\n'
        )

    return {
        drawing.key(source): {scheme: svg(source, scheme) for scheme in drawing.SCHEMES} | {"mermaid": "1"}
        for source in sources.values()
    }


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docs folder with one page of two diagrams, both drawn."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "page.en.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(diagrams, "draw", drawn)
    monkeypatch.setattr(diagrams, "STORE", folder / "store")
    diagrams.update(folder, folder / "store")
    return folder


def problems(docs: Path) -> list[Problem]:
    return diagrams.check(docs, docs / "store")


def stored(docs: Path, scheme: str = "light", source: str = FLOW) -> Path:
    return docs / "store" / f"{drawing.key(source)}.{scheme}.svg"


def edit(docs: Path, old: str, new: str) -> None:
    page = docs / "page.en.md"
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new, 1), encoding="utf-8")


def render(text: str) -> str:
    """The page as the site's Markdown renders it."""
    fences = [{"name": "mermaid", "class": "mermaid", "format": diagrams.fence}]
    settings = {"pymdownx.superfences": {"custom_fences": fences}}
    return markdown.markdown(text, extensions=["admonition", "pymdownx.superfences"], extension_configs=settings)


def test_drawn_pages_have_no_problem(docs):
    assert problems(docs) == []


def test_find_sees_what_superfences_sees(docs, monkeypatch):
    """The same sources in the same order, in an admonition too, and no example inside another fence."""
    seen = []
    monkeypatch.setattr(diagrams, "fence", lambda source, *_, **__: seen.append(source) or "")
    render(PAGE)
    found = diagrams.find(docs)
    assert [diagram.source for diagram in found] == seen == [FLOW, OTHER]
    assert [(diagram.page.name, diagram.line) for diagram in found] == [("page.en.md", 3), ("page.en.md", 12)]


def test_a_key_changes_with_the_source_and_not_with_its_margins():
    assert re.fullmatch("[0-9a-f]{16}", drawing.key(FLOW))
    assert drawing.key(f"\n{FLOW}  \n\n".replace("\n", "\r\n")) == drawing.key(FLOW) != drawing.key(OTHER)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("package.json", f'"mermaid": "{npm.version("mermaid")}"', '"mermaid": "0.0.1"'),
        ("config.json", '"look": "classic"', '"look": "neo"'),
        ("draw.js", "mermaid.initialize", "mermaid . initialize"),
    ],
)
def test_a_key_changes_with_version_configuration_and_script(tmp_path, monkeypatch, docs, name, old, new):
    before, copied = drawing.key(FLOW), tmp_path / "mermaid"
    copied.mkdir()
    for file in ("package.json", "config.json", "draw.js"):
        shutil.copy(drawing.NPM / file, copied)
    text = (copied / name).read_text()
    assert old in text
    (copied / name).write_text(text.replace(old, new))
    monkeypatch.setattr(drawing, "NPM", copied)
    monkeypatch.setattr(npm, "SCRIPTS", tmp_path)
    assert drawing.key(FLOW) != before
    assert any("never drawn" in problem.what for problem in problems(docs))


def test_a_changed_diagram_is_stale_and_its_drawings_are_unused(docs):
    edit(docs, "values", "gradients")
    first, *rest = problems(docs)
    assert (first.where, first.mend) == ("docs/page.en.md:3", "make diagrams")
    assert "never drawn" in first.what
    unused = [f"docs/store/{stored(docs, scheme).name}" for scheme in ("dark", "light")]
    assert rest == [Problem(where, "no page uses it", "make diagrams") for where in unused]


def test_half_a_pair(docs):
    stored(docs, "dark").unlink()
    (problem,) = problems(docs)
    assert "half of the pair" in problem.what
    assert stored(docs, "dark").name in problem.what


@pytest.mark.parametrize("scheme", drawing.SCHEMES)
def test_a_drawing_edited_by_hand(docs, scheme):
    path = stored(docs, scheme)
    path.write_text(path.read_text().replace("One step", "Two steps"))
    (problem,) = problems(docs)
    assert f"{path.name} is not what mermaid drew" in problem.what


def test_a_drawing_unknown_to_the_ledger(docs):
    (docs / "store" / "diagrams.json").write_text("<<<<<<< merged\n")
    assert [problem.where for problem in problems(docs)] == ["docs/page.en.md:3", "docs/page.en.md:12"]


@pytest.mark.parametrize("label", ["取一批", "values", "Forward pass"])
def test_a_drawing_that_lacks_a_label(docs, monkeypatch, label):
    lost = drawn({"": FLOW})
    for entry in lost.values():
        entry["light"] = entry["light"].replace(f"<text>{label}</text>", "<text>Unsupported</text>")
    monkeypatch.setattr(diagrams, "draw", lambda _: lost)
    stored(docs).unlink()
    diagrams.update(docs, docs / "store")
    (problem,) = problems(docs)
    assert f"lacks the label {label!r}" in problem.what


def test_labels_wherever_they_stand_and_as_they_are_drawn():
    flow = """flowchart LR
      %% "a comment"
      accTitle: "a title"
      a["in<br/>quotes"] -- "on a line" --> b([bare text]) -->|bare edge| c[("`**bold** #quot;x#quot;`")]
      subgraph s [A box]
        a@{ shape: rect }
      end"""
    said = ["in<br/>quotes", "on a line", "`**bold** #quot;x#quot;`", "bare edge", "bare text", "A box"]
    assert sorted(diagrams.labels(flow)) == sorted(said)
    assert [diagrams.squeezed(label) for label in said[:3]] == ["inquotes", "onaline", 'bold"x"']
    talk = "sequenceDiagram\n  accTitle: t\n  participant L as The loop\n  L->>M: forward(x)\n"
    assert diagrams.labels(talk) == ["The loop", "forward(x)"]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("  accTitle: One step\n", "", "no `accTitle:`"),
        ("accTitle: One step", "accTitle:", "no `accTitle:`"),
        ("accDescr: A batch goes through the model.", "accDescr { }", "no `accDescr:`"),
        ("  accDescr: A batch goes through the model.\n", "", "no `accDescr:`"),
        ("flowchart TD\n", "flowchart TD\n  classDef hot fill:#f00\n", "`classDef` in a diagram can't suit both"),
        ("flowchart TD\n", "flowchart TD\n  style batch fill:#f00\n", "`style` in a diagram can't suit both"),
        ("flowchart TD\n", '%%{init: {"theme": "dark"}}%%\nflowchart TD\n', "`%%{` in a diagram can't suit both"),
        ("[Forward pass]", "{{Forward pass}}", "`{{` in a diagram is read by mkdocs-macros"),
        ("more values", "values", "shows this diagram twice"),
    ],
)
def test_what_no_drawing_mends(docs, old, new, what):
    edit(docs, old, new)
    diagrams.update(docs, docs / "store")
    (problem,) = problems(docs)
    assert what in problem.what
    assert problem.where.startswith("docs/page.en.md:")


def test_update_mends_every_fault_of_the_store_and_draws_nothing_anew(docs, monkeypatch):
    asked = []
    monkeypatch.setattr(diagrams, "draw", lambda sources: asked.append(sorted(sources)) or drawn(sources))
    whole = {path: path.read_bytes() for path in (docs / "store").iterdir()}
    stored(docs).write_text("<svg/>")
    stored(docs, "dark", OTHER).unlink()
    (docs / "store" / f".{stored(docs).name}").write_text("<sv")
    (docs / "store" / "0123456789abcdef.light.svg").write_text("<svg/>")
    diagrams.update(docs, docs / "store")
    assert {path: path.read_bytes() for path in (docs / "store").iterdir()} == whole
    diagrams.update(docs, docs / "store")
    assert asked == [["docs/page.en.md:12", "docs/page.en.md:3"], []]


@pytest.mark.parametrize("last", range(1, 6))
def test_an_interrupted_run_leaves_whole_files_and_the_next_completes_it(docs, monkeypatch, last):
    """Broken off at each of the five writes."""
    shutil.rmtree(docs / "store")
    replace, count = Path.replace, iter(range(1, 100))

    def broken(path: Path, target: Path) -> Path:
        if next(count) == last:
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", broken)
        with pytest.raises(KeyboardInterrupt):
            diagrams.update(docs, docs / "store")
    assert all(path.read_text().endswith("</svg>\n") for path in (docs / "store").glob("*.svg"))
    assert problems(docs)
    diagrams.update(docs, docs / "store")
    assert problems(docs) == []


def test_a_diagram_that_mermaid_rejects_changes_nothing(docs, monkeypatch):
    def reject(sources):
        raise Stop(*(Problem(where, "mermaid can't draw the diagram", "its source") for where in sources))

    before = {path: path.read_bytes() for path in (docs / "store").iterdir()}
    edit(docs, "more values", "values]")
    monkeypatch.setattr(diagrams, "draw", reject)
    with pytest.raises(Stop) as stop:
        diagrams.update(docs, docs / "store")
    assert [problem.where for problem in stop.value.problems] == ["docs/page.en.md:12"]
    assert {path: path.read_bytes() for path in (docs / "store").iterdir()} == before


class Page(HTMLParser):
    """The ids, the classes, the texts and the roles of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.classes, self.texts, self.roles, self.tags = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.roles += [attributes["role"]] if "role" in attributes else []
        self.classes += attributes.get("class", "").split()

    def handle_data(self, text):
        self.texts.append(text.strip())


def test_a_page_holds_both_schemes_with_text_and_unique_ids(docs):
    page = Page(render(PAGE))
    assert page.tags.count("svg") == page.classes.count("diagram-light") + page.classes.count("diagram-dark") == 4
    assert page.roles == ["img"] * 4
    assert len(page.ids) == len(set(page.ids)) == 8
    for label in ("取一批", "Forward pass", "values", "more values", "One step"):
        assert label in page.texts
    assert "script" not in page.tags


def test_a_page_with_a_missing_drawing_ends_the_build(docs):
    with pytest.raises(SuperFencesException, match="never drawn.*make diagrams"):
        render(PAGE.replace("values", "gradients"))
    stored(docs).write_text("<svg/>")
    with pytest.raises(SuperFencesException, match="not what mermaid drew"):
        render(PAGE)


def test_mermaid_is_pinned_and_the_lock_names_no_host():
    lock = (drawing.NPM / "package-lock.json").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+", npm.version("mermaid"))
    assert json.loads(lock)["packages"]["node_modules/mermaid"]["version"] == npm.version("mermaid")
    assert "http" not in lock, "strip `funding` and `resolved` from scripts/mermaid/package-lock.json"


BROWSER = next(filter(None, map(shutil.which, drawing.BROWSERS)), None)
MERMAID = (drawing.NPM / "node_modules" / "mermaid").exists()
needs_browser = pytest.mark.skipif(
    not (BROWSER and MERMAID),
    reason=f"drawing needs Chromium (found: {BROWSER}) and scripts/mermaid/node_modules (found: {MERMAID})",
)


@needs_browser
def test_mermaid_draws_the_same_bytes_twice_with_text_and_without_a_request():
    sources = {"a": FLOW, "b": "sequenceDiagram\n  accTitle: t\n  accDescr: d\n  A->>B: forward(x)"}
    first, second = drawing.draw(sources), drawing.draw(sources)
    assert first == second
    for source in sources.values():
        for scheme in drawing.SCHEMES:
            svg = first[drawing.key(source)][scheme]
            assert all(label in Page(svg).texts for label in diagrams.labels(source))
            assert all(drawing.key(source) in name and scheme in name for name in Page(svg).ids)
            assert not re.search(r"<script|foreignObject|@import|https?://(?!www\.w3\.org/)", svg)
            assert len(svg.encode()) < 25_000


@needs_browser
def test_a_source_that_mermaid_cannot_read_is_named_with_its_page_and_line():
    with pytest.raises(Stop) as stop:
        drawing.draw({"docs/a.md:7": "flowchart TD\n  a[", "docs/b.md:1": FLOW, "docs/c.md:2": "nothing known"})
    assert [problem.where for problem in stop.value.problems] == ["docs/a.md:7", "docs/c.md:2"]
    assert "Parse error on line" in stop.value.problems[0].what
