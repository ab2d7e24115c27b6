"""Run the PyTorch programs for the site, each run once, and keep the results until something that they depend on changes.

`python -m scripts.execute` runs what is stale.
"""

import hashlib
import logging
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts import machine
from scripts.lessons import ROOT, Lesson, Run, lessons
from scripts.problems import Stop
from scripts.run import Result, load, run, save

STORE = ROOT / ".cache" / "runs"
log = logging.getLogger("mkdocs.hooks.execute")


def folder(lesson: Lesson, run: Run) -> Path:
    """Where the result of a run is kept: its name is a key of everything that the result depends on."""
    depends = [lesson.key("pytorch"), run.name, machine.python(), machine.torch(), machine.processor()]
    key = hashlib.sha256(repr(depends).encode()).hexdigest()[:16]
    return STORE / lesson.name / f"{run.name}-{key}"


def result(lesson: Lesson, run: Run) -> Result:
    """The kept result of a run of the lesson's PyTorch program, which runs now if nothing is kept."""
    kept = folder(lesson, run)
    if not kept.exists():
        keep(execute(lesson, run), kept, command(lesson, run))
    return load(kept)


def execute(lesson: Lesson, which: Run) -> Result:
    log.info("running %s %s", lesson.where("pytorch"), " ".join(which.arguments))
    return run(lesson, "pytorch", which, [sys.executable, str(lesson.program("pytorch"))])


def command(lesson: Lesson, run: Run) -> str:
    """What a reader types to repeat the run."""
    return " ".join([".venv/bin/python", f"snippets/{lesson.name}/pytorch.py", *run.arguments])


def keep(result: Result, place: Path, command: str) -> None:
    """Save a result whole or not at all, and drop what was kept of the same run before."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as staging:
        save(result, Path(staging, "run"), command)
        if not place.exists():
            os.replace(Path(staging, "run"), place)
    run_name = place.name.rpartition("-")[0]
    for other in place.parent.glob(f"{run_name}-????????????????"):
        if other != place:
            shutil.rmtree(other)


def pytorch_runs(lesson: Lesson) -> list[Run]:
    return [run for run in lesson.runs.values() if "pytorch" in run.statuses]


def execute_all() -> None:
    """Run what is stale, two programs at a time: first the plain runs, then the others.

    Raises `Stop` with every problem found; a problem in a plain run is told before any other run is begun.
    """
    stale = [(lesson, run) for lesson in lessons() for run in pytorch_runs(lesson) if not folder(lesson, run).exists()]
    for plain in (True, False):
        problems = []

        def one(pair: tuple[Lesson, Run], problems: list = problems) -> None:
            try:
                result(*pair)
            except Stop as stop:
                problems.extend(stop.problems)

        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(one, (pair for pair in stale if (pair[1].name == "main") is plain)))
        if problems:
            raise Stop(*problems)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        execute_all()
    except Stop as stop:
        sys.exit(str(stop))


if __name__ == "__main__":
    main()
