"""Each PyTorch program, run alone and anew: the same as what is kept, to the last bit, and fit to be read by itself."""

import os
import subprocess
import sys

import pytest

from scripts.capture import differences
from scripts.execute import execute, pytorch_runs, result
from scripts.lessons import ROOT, lessons

LESSONS = lessons()
RUNS = [pytest.param(lesson, run, id=f"{lesson.name}-{run.name}") for lesson in LESSONS for run in pytorch_runs(lesson)]


@pytest.mark.parametrize(("lesson", "run"), RUNS)
def test_a_run_gives_the_same_again(lesson, run):
    problems = differences(result(lesson, run), execute(lesson, run), exact=True)
    assert not problems, "\n".join(map(str, problems))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_reader_can_run_it_by_hand(lesson, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "LESSON_OUT"}
    done = subprocess.run(
        [sys.executable, str(lesson.program("pytorch"))],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"== {lesson.outputs('pytorch')[0]} ==" in done.stdout
    assert "\x1e" not in done.stdout
