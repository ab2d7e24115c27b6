"""A lesson's notebook: one source for both languages, executed once, rendered by mkdocs-jupyter, downloadable.

`snippets/<lesson>/notebook.py` is a notebook in jupytext's percent format. A Markdown cell says its language
(`# %% [markdown] lang="zh"`), and every one in Chinese is followed by its twin in English; code cells are common to both.
A code cell tagged `captured` asks for what burn recorded, `burn = captured("sgd.losses", "f64/sgd.losses")` (the latter
in the run `f64`); in the notebook the numbers stand there instead, so that it runs anywhere by itself.
"""

import ast
import copy
import hashlib
import logging
import os
import re
import tempfile
from importlib.metadata import version
from pathlib import Path

import jupytext
import lxml.html
import lxml.html.builder
import nbclient
import nbformat
from traitlets.config import Config

from scripts import capture, machine
from scripts.lessons import ROOT, Lesson, local_imports
from scripts.problems import Problem, Stop
from scripts.run import environment

STORE = ROOT / ".cache" / "notebooks"
TIMEOUT = 300  # seconds for a cell
HAN = re.compile(r"[\u4e00-\u9fff]")
FIGURE = re.compile(r"(?<![\w.])\d")
log = logging.getLogger("mkdocs.hooks.notebook")


def source(lesson: Lesson) -> Path:
    return lesson.folder / "notebook.py"


def where(lesson: Lesson, cell: int = 0) -> str:
    path = f"snippets/{lesson.name}/notebook.py"
    return f"{path} (cell {cell})" if cell else path


def check(lesson: Lesson) -> list[Problem]:
    """Whether every Markdown cell stands in both languages, in the right one, and types no figure."""
    if not source(lesson).exists():
        return []
    problems = []
    waiting = 0
    cells = jupytext.read(source(lesson)).cells
    for number, cell in enumerate(cells, start=1):
        if cell.cell_type != "markdown":
            if waiting:
                problems.append(Problem(where(lesson, waiting), "the Chinese cell has no English twin", "add it below"))
            waiting = 0
            continue
        language = cell.metadata.get("lang")
        prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", cell.source)
        if language not in ("zh", "en") or (language == "en") != bool(waiting):
            problems.append(
                Problem(where(lesson, number), "it is not a Chinese cell or its English twin", 'say lang="zh"')
            )
        waiting = number if language == "zh" else 0
        if language == "en" and HAN.search(prose):
            problems.append(Problem(where(lesson, number), "the English cell has Chinese in it", "translate it"))
        if language == "zh" and not HAN.search(prose):
            problems.append(Problem(where(lesson, number), "the Chinese cell has no Chinese in it", "translate it"))
        if figure := FIGURE.search(prose):
            what = f"a figure is typed by hand: {prose[figure.start() : figure.start() + 20]!r}"
            problems.append(Problem(where(lesson, number), what, "print it in a code cell"))
    if waiting:
        problems.append(Problem(where(lesson, waiting), "the Chinese cell has no English twin", "add it below"))
    return problems


def with_captured(lesson: Lesson, cell) -> str:
    """The source of a `captured` cell with burn's numbers in place of the call."""
    tree = ast.parse(cell.source)
    match tree.body:
        case [
            ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(func=ast.Name(id="captured"), args=arguments))
        ]:
            names = [ast.literal_eval(argument) for argument in arguments]
        case _:
            raise Stop(
                Problem(where(lesson), f"not a captured cell: {cell.source!r}", 'write burn = captured("name", …)')
            )
    lines = [f"{variable} = {{"]
    for name in names:
        run, _, value = name.rpartition("/")
        values = capture.captured(lesson, lesson.runs[run or "main"]).values
        if value not in values:
            raise Stop(Problem(where(lesson), f"burn recorded no {name!r}", f"it recorded {', '.join(values)}"))
        numbers = [repr(number) for number in values[value].numbers.flatten().tolist()]
        rows = [f"        {', '.join(numbers[i : i + 3])}," for i in range(0, len(numbers), 3)]
        lines += [f'    "{name}": [', *rows, "    ],"]
    return "\n".join([*lines, "}"])


def prepared(lesson: Lesson):
    """The notebook of both languages, not executed."""
    notebook = jupytext.read(source(lesson))
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        if "captured" in cell.metadata.get("tags", []):
            cell.source = with_captured(lesson, cell)
    return notebook


def kept_file(lesson: Lesson) -> Path:
    """Where the executed notebook is kept: its name is a key of everything that the outputs depend on."""
    versions = [machine.python(), machine.torch(), version("mkdocs-jupyter"), machine.processor()]
    imported = [path.read_text() for path in local_imports(source(lesson), [lesson.folder, ROOT])]
    depends = [Path(__file__).read_text(), nbformat.writes(prepared(lesson)), *versions, *imported]
    key = hashlib.sha256("\0".join(depends).encode()).hexdigest()[:16]
    return STORE / f"{lesson.name}-{key}.ipynb"


def executed(lesson: Lesson):
    """The notebook of both languages with its outputs: kept ones, if nothing that they depend on has changed."""
    kept = kept_file(lesson)
    if not kept.exists():
        notebook = prepared(lesson)
        run(notebook, where(lesson))
        STORE.mkdir(parents=True, exist_ok=True)
        for other in STORE.glob(f"{lesson.name}-????????????????.*"):
            other.unlink()
        partial = kept.with_suffix(".partial")
        nbformat.write(notebook, partial)
        os.replace(partial, kept)
    return nbformat.read(kept, as_version=4)


def run(notebook, where: str) -> None:
    """Execute every cell, in an empty folder; raises `Stop` for a cell that raises, warns, or writes to stderr."""
    log.info("running %s", where)
    with tempfile.TemporaryDirectory(prefix="notebook-") as place:
        variables = environment(Path(place, "unused"))
        del variables["LESSON_OUT"], variables["PYTHONWARNINGS"], variables["PYTHONPATH"]
        settings = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(place, "kernel"))}})
        client = nbclient.NotebookClient(
            notebook,
            config=settings,
            kernel_name="python3",
            timeout=TIMEOUT,
            allow_errors=False,
            coalesce_streams=True,  # however the output arrived, it is one text
            resources={"metadata": {"path": place}},
        )
        try:
            client.execute(env=variables)
        except nbclient.exceptions.CellExecutionError as error:
            raise Stop(Problem(where, f"a cell raises: {str(error)[-1500:]}", "mend the cell")) from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise Stop(Problem(where, f"a cell writes to stderr: {output.text[:500]}", "mend what it warns of"))


def in_language(notebook, language: str):
    """The notebook with the Markdown cells of one language."""
    chosen = copy.deepcopy(notebook)
    chosen.cells = [cell for cell in chosen.cells if cell.metadata.get("lang", language) == language]
    for cell in chosen.cells:
        cell.metadata.pop("lang", None)
    return chosen


def html(lesson: Lesson, language: str) -> str:
    """The executed notebook as mkdocs-jupyter renders it, in the theme's own markup: without its styles and scripts.

    Kept beside the executed notebook: mkdocs-jupyter takes seconds to import.
    """
    done = executed(lesson)
    kept = kept_file(lesson).with_suffix(f".{language}.html")
    if not kept.exists():
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(rendered(lesson, done, language))
        os.replace(partial, kept)
    return kept.read_text()


def rendered(lesson: Lesson, done, language: str) -> str:
    from mkdocs_jupyter.convert import nb2html

    with tempfile.TemporaryDirectory() as place:
        path = Path(place, f"{lesson.name}.ipynb")
        nbformat.write(in_language(done, language), path)
        page = nb2html(str(path), execute=False, allow_errors=False)
    tree = lxml.html.document_fromstring(page)
    found = tree.cssselect(".jp-Notebook")
    if len(found) != 1:
        raise Stop(Problem(where(lesson), "mkdocs-jupyter rendered no notebook", "look at its version"))
    cells = found[0].xpath("./*[contains(concat(' ', @class, ' '), ' jp-Cell ')]")
    parts = [part for cell in cells for part in cell_html(cell)]
    return f'<div class="notebook">{"".join(parts)}</div>'


def cell_html(cell) -> list[str]:
    """One rendered cell: its prose, or its code and what it printed, as the theme's own blocks."""
    prose = cell.cssselect(".jp-RenderedMarkdown")
    if prose:
        for link in prose[0].cssselect(".anchor-link"):
            link.drop_tree()
        for heading in prose[0].cssselect("[id]"):
            del heading.attrib["id"]
        for title in prose[0].cssselect("h1"):
            title.drop_tree()  # the page has its own
        return [lxml.html.tostring(child, encoding="unicode") for child in prose[0]]
    blocks = []
    for pre in cell.cssselect(".jp-InputArea-editor pre"):
        inside = (pre.text or "") + "".join(lxml.html.tostring(child, encoding="unicode") for child in pre)
        blocks.append(f'<div class="language-python highlight"><pre><code>{inside.strip()}\n</code></pre></div>')
    for pre in cell.cssselect(".jp-OutputArea-output pre"):
        text = lxml.html.builder.CODE(pre.text_content().rstrip("\n") + "\n")
        blocks.append(
            f'<div class="language-text highlight"><pre>{lxml.html.tostring(text, encoding="unicode")}</pre></div>'
        )
    return blocks


def text(notebook, language: str) -> str:
    """The notebook of one language as the text of an .ipynb file."""
    return nbformat.writes(in_language(notebook, language))
