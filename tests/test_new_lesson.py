"""A lesson begun by `make lesson` is valid as it stands, is a draft, and can't overwrite anything."""

import os
import subprocess
import sys

import pytest

from scripts.lessons import ROOT
from scripts.new_lesson import with_entry


def run(root, *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.xdist_group("cargo")
def test_a_new_lesson_passes_every_check_once_captured(copy):
    begun = run(copy, "-m", "scripts.new_lesson", "two-times", "burn")
    assert begun.returncode == 0, begun.stdout
    early = run(copy, "-m", "scripts.checks")
    assert "snippets/two-times/captured: burn.rs was never captured. To mend: make capture" in early.stdout
    captured = run(copy, "-m", "scripts.capture")
    assert captured.stdout.strip() == "captured two-times", captured.stdout  # and no other lesson became stale
    drawn = run(copy, "-m", "scripts.checks")
    assert "docs/burn/two-times.zh.md" in drawn.stdout and "make diagrams" in drawn.stdout
    # Drawing needs npm, and is tested in test_diagrams.py; everything else holds.
    without = "from scripts import checks, diagrams; diagrams.check = lambda *_: []; checks.everything()"
    held = run(copy, "-c", without)
    assert held.returncode == 0, held.stdout
    assert drafts(copy) == ["docs/burn/two-times.en.md", "docs/burn/two-times.zh.md"]
    for tool in (
        ["cargo", "fmt", "--check"],
        [sys.executable, "-m", "ruff", "check", "."],
        [sys.executable, "-m", "ruff", "format", "--check", "."],
    ):
        done = subprocess.run(tool, cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def drafts(root) -> list[str]:
    said = run(root, "-c", "from scripts import checks; print(*(p.where for p in checks.check_drafts()), sep='\\n')")
    return said.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "part", "says"),
    [
        ("Two", "burn", "it is not lower-case words with hyphens"),
        ("two/../../x", "burn", "it is not lower-case words with hyphens"),
        ("two", "elsewhere", "there is no such part"),
        ("training-loop", "main-line", "it exists already"),
    ],
)
def test_what_can_not_be_begun_leaves_nothing(copy, name, part, says):
    before = sorted(copy.rglob("*"))
    done = run(copy, "-m", "scripts.new_lesson", name, part)
    assert done.returncode == 1
    assert says in done.stdout and "To mend: " in done.stdout
    assert [p for p in sorted(copy.rglob("*")) if "__pycache__" not in p.parts] == [
        p for p in before if "__pycache__" not in p.parts
    ]


CONFIG = """\
nav:
  - Home: index.md
  - main-line:
      - main-line/a.md
  - burn:
      - burn/b.md

hooks:
  - x
"""


@pytest.mark.parametrize(
    ("part", "after"),
    [("main-line", "      - main-line/a.md\n"), ("burn", "      - burn/b.md\n"), ("hands-on", "  - hands-on:\n")],
)
def test_the_line_of_nav(part, after):
    new = with_entry(CONFIG, "new", part)
    assert f"{after}      - {part}/new.md\n" in new
    assert len(new.splitlines()) == len(CONFIG.splitlines()) + 1 + (part == "hands-on")
