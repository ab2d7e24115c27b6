"""Notebooks: both languages from one source, executed, without a trace of an error, and running by themselves."""

import json
from dataclasses import dataclass

import nbformat
import numpy as np
import pytest

from scripts import capture, notebook
from scripts.lessons import Lesson, Run, lessons
from scripts.problems import Stop
from scripts.run import Result, Value

GOOD = """\
# %% [markdown] lang="zh"
# ## 标题

# %% [markdown] lang="en"
# ## Title

# %% tags=["captured"]
burn = captured("losses")

# %%
print(sum(burn["losses"]))
"""


@dataclass(frozen=True)
class Made(Lesson):
    """A lesson made of a notebook alone."""

    @property
    def runs(self):
        return {"main": Run("main", {"pytorch": 0, "burn": 0})}


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook, "STORE", tmp_path / "store")
    kept = Result(status=0, values={"losses": Value("compared", "f32", np.float32([0.5, 0.25, 0.1]))})
    monkeypatch.setattr(capture, "captured", lambda *_: kept)

    def make(text: str) -> Lesson:
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        (folder / "notebook.py").write_text(text)
        return Made(folder)

    return make


def test_one_source_gives_both_languages_and_runs_once(made, monkeypatch):
    lesson = made(GOOD)
    runs = []
    run = notebook.run
    monkeypatch.setattr(notebook, "run", lambda *arguments: (runs.append(1), run(*arguments)))
    zh, en = (notebook.html(lesson, language) for language in ("zh", "en"))
    assert "标题" in zh and "Title" not in zh
    assert "Title" in en and "标题" not in en
    assert zh.replace("标题", "Title") == en
    assert "0.8500000014901161" in zh  # the sum of the captured numbers, to the bit
    assert len(runs) == 1
    assert "<script" not in zh and "<style" not in zh and "http" not in zh


def test_the_executed_notebook_is_made_anew_when_burn_was_captured_anew(made, monkeypatch):
    lesson = made(GOOD)
    first = notebook.text(notebook.executed(lesson), "en")
    other = Result(status=0, values={"losses": Value("compared", "f32", np.float32([1.0]))})
    monkeypatch.setattr(capture, "captured", lambda *_: other)
    assert notebook.text(notebook.executed(lesson), "en") != first
    assert len(list(notebook.STORE.glob("*.ipynb"))) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + "# %%\n1 / 0\n", r"a cell raises: [^$]*ZeroDivisionError"),
        (GOOD + "# %%\nimport sys\nsys.stderr.write('psst')\n", r"a cell writes to stderr: psst"),
        (GOOD + "# %%\nimport warnings\nwarnings.warn('take care')\n", r"a cell writes to stderr: [^$]*take care"),
        (GOOD.replace('captured("losses")', 'captured("nothing")'), r"burn recorded no 'nothing'"),
        (GOOD.replace('burn = captured("losses")', "captured = 1"), r"not a captured cell"),
    ],
)
def test_a_notebook_that_fails_is_not_kept(made, text, says):
    with pytest.raises(Stop, match=says):
        notebook.executed(made(text))
    assert not list(notebook.STORE.glob("*.ipynb"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('# %% [markdown] lang="en"\n# ## Title\n', "", "the Chinese cell has no English twin"),
        ('# %% [markdown] lang="zh"\n# ## 标题\n', "", "it is not a Chinese cell or its English twin"),
        ('lang="zh"', "", "it is not a Chinese cell or its English twin"),
        ("# ## Title", "# ## 标题", "the English cell has Chinese in it"),
        ("# ## 标题", "# ## Title", "the Chinese cell has no Chinese in it"),
        ("# ## Title", "# ## Title of 3", "a figure is typed by hand"),
        ("print(sum", "# %% [markdown] lang=\"zh\"\n# 完\n# %%\nprint(sum", "the Chinese cell has no English twin"),
    ],
)  # fmt: skip
def test_the_cells_are_checked(made, old, new, says):
    assert old in GOOD
    assert says in "\n".join(map(str, notebook.check(made(GOOD.replace(old, new)))))


def test_good_cells_pass(made):
    assert notebook.check(made(GOOD)) == []


NOTEBOOKS = [lesson for lesson in lessons() if notebook.source(lesson).exists()]


@pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.name)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_download_runs_top_to_bottom_in_an_empty_folder(site, lesson, language):
    fresh = nbformat.read(site / "downloads" / f"{lesson.name}.{language}.ipynb", as_version=4)
    kept = [outputs(cell) for cell in fresh.cells]
    notebook.run(fresh, lesson.name)
    assert [outputs(cell) for cell in fresh.cells] == kept


def outputs(cell) -> str:
    return json.dumps(
        [{k: v for k, v in output.items() if k in ("text", "data", "name")} for output in cell.get("outputs", [])],
        sort_keys=True,
    )
