"""Captures: what counts as changed, what a processor may change, and that an interruption leaves no half."""

from dataclasses import replace

import numpy as np
import pytest

from scripts import capture
from scripts.lessons import Lesson, lessons
from scripts.problems import Stop
from scripts.run import Result, Value

KEPT = Result(
    status=0,
    output={"a": "loss 0.700000\nstep 3"},
    values={"x": Value("compared", "f32", np.float32([0.5, 1.0])), "t": Value("seconds", "f64", np.float64([0.1]))},
    sizes={"model.bpk": 1292},
    texts={"x.log": "0.6867102980613708,1"},
)


def moved(ulp: int) -> dict[str, Value]:
    numbers = np.float32([0.5, 1.0 + ulp * np.finfo(np.float32).eps])
    return KEPT.values | {"x": Value("compared", "f32", numbers)}


@pytest.mark.parametrize(
    ("now", "exact", "says"),
    [
        (KEPT, True, None),
        (replace(KEPT, values=KEPT.values | {"t": Value("seconds", "f64", np.float64([9.9]))}), True, None),
        (replace(KEPT, values=moved(1)), True, "x moved"),
        (replace(KEPT, values=moved(1)), False, None),
        (replace(KEPT, values=moved(capture.ULPS + 1)), False, "x moved"),
        (replace(KEPT, values={"t": KEPT.values["t"]}), False, "recorded names"),
        (
            replace(KEPT, values=KEPT.values | {"x": Value("noted", "f32", np.float32([0.5, 1.0]))}),
            False,
            "x was compared",
        ),
        (replace(KEPT, values=KEPT.values | {"x": Value("compared", "f64", np.float64([0.5, 1.0]))}), False, "x was"),
        (replace(KEPT, output={"a": "loss 0.700001\nstep 3"}), True, "a.txt:1"),
        (replace(KEPT, output={"a": "loss 0.700001\nstep 3"}), False, None),
        (replace(KEPT, output={"a": "loss 0.700100\nstep 3"}), False, "a.txt:1"),
        (replace(KEPT, output={"a": "loss 0.700000\nstep 4"}), False, "a.txt:2"),
        (replace(KEPT, output={"a": "lost 0.700000\nstep 3"}), False, "a.txt:1"),
        (replace(KEPT, output={"a": "loss 0.700000"}), False, "had 2 lines, has 1"),
        (replace(KEPT, output={"b": "loss 0.700000\nstep 3"}), False, "sections"),
        (replace(KEPT, sizes={"model.bpk": 1293}), False, "files"),
        (replace(KEPT, texts={"x.log": "0.6867102980613707,1"}), True, "files/x.log:1"),
        (replace(KEPT, texts={"x.log": "0.6867102980613707,1"}), False, None),
        (replace(KEPT, texts={"x.log": "0.6867102980613708,2"}), False, "files/x.log:1"),
    ],
)
def test_differences(now, exact, says):
    found = "\n".join(map(str, capture.differences(KEPT, now, exact)))
    assert says in found if says else not found


@pytest.fixture
def lesson(tmp_path, monkeypatch) -> Lesson:
    """A lesson in a folder of its own, with a capture, whose program is never really run."""
    folder = tmp_path / "lesson"
    (folder / "captured").mkdir(parents=True)
    (folder / "captured" / "old.txt").write_text("old")
    (folder / "Cargo.toml").write_text("")
    (folder / "burn.rs").write_text("")
    monkeypatch.setattr(capture, "ROOT", tmp_path)
    monkeypatch.setattr(capture, "results", lambda *_: {"main": KEPT})
    monkeypatch.setattr(capture, "features", lambda: ["std"])
    monkeypatch.setattr(Lesson, "key", lambda *_: "key")
    return Lesson(folder)


def test_a_capture_replaces_the_folder_as_a_whole(lesson, tmp_path):
    capture.capture(lesson, tmp_path, lesson.key("burn"))
    names = sorted(path.name for path in (lesson.folder / "captured").rglob("*") if path.is_file())
    assert names == ["a.txt", "provenance.json", "run.json", "values.jsonl", "x.log"]
    assert capture.provenance(lesson)["digest"] == capture.digest(lesson.folder / "captured")


@pytest.mark.parametrize("step", ["results", "save", "provenance"])
def test_an_interrupted_capture_leaves_what_was_there(lesson, tmp_path, monkeypatch, step):
    def interrupt(*_):
        raise KeyboardInterrupt

    where = {"results": (capture, "results"), "save": (capture, "save"), "provenance": (capture, "features")}[step]
    monkeypatch.setattr(*where, interrupt)
    with pytest.raises(KeyboardInterrupt):
        capture.capture(lesson, tmp_path, lesson.key("burn"))
    assert [path.name for path in (lesson.folder / "captured").iterdir()] == ["old.txt"]
    assert not list(tmp_path.glob(".cache/*"))


def test_a_program_that_differs_from_run_to_run_is_not_captured(lesson, tmp_path, monkeypatch):
    results = iter([{"main": KEPT}, {"main": replace(KEPT, output={"a": "loss 0.700001\nstep 3"})}])
    monkeypatch.setattr(capture, "results", lambda *_: next(results))
    with pytest.raises(Stop, match=r"two runs differ.*make the program deterministic"):
        capture.capture(lesson, tmp_path, lesson.key("burn"))
    assert [path.name for path in (lesson.folder / "captured").iterdir()] == ["old.txt"]


@pytest.mark.xdist_group("cargo")
def test_every_capture_holds_when_burn_runs_again():
    binaries = capture.build()
    problems = [problem for lesson in lessons() for problem in capture.check(lesson, binaries)]
    assert not problems, "\n".join(map(str, problems))


def test_a_source_that_changes_while_it_is_captured_is_an_error(lesson, tmp_path):
    with pytest.raises(Stop, match="it was changed while its program was built and run"):
        capture.capture(lesson, tmp_path, "the key before")
    assert [path.name for path in (lesson.folder / "captured").iterdir()] == ["old.txt"]
