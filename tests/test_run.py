"""Running a program: what it prints reaches the page as Python prints it, and nothing of one run reaches another."""

import sys
from pathlib import Path

import numpy as np
import pytest

from scripts import run as running
from scripts.lessons import Lesson, Run
from scripts.problems import Stop

MAIN = Run("main", {"pytorch": 0, "burn": 0})


@pytest.fixture
def program(tmp_path):
    """Run the text of a Python program as a lesson's, and return the result."""

    def go(text: str, run: Run = MAIN) -> running.Result:
        folder = tmp_path / "lesson-of-a-test"
        folder.mkdir(exist_ok=True)
        (folder / "Cargo.toml").write_text('[package.metadata.files]\nkeep = ["*.txt"]\nvolatile = ["*.log"]\n')
        (folder / "pytorch.py").write_text("from lesson import note, record, section\n" + text)
        lesson = Lesson(folder)
        return running.run(lesson, "pytorch", run, [sys.executable, str(lesson.program("pytorch"))])

    return go


def test_every_way_of_printing_is_kept_as_printed(program):
    result = program(
        "import sys, pprint\n"
        "section('all')\n"
        "print('a', 'b', sep='-', end='!\\n')\n"
        "print('to a file', file=sys.stdout)\n"
        "sys.stdout.write('written\\n')\n"
        "pprint.pprint({'b': 1, 'a': 2})\n"
        "print('__init__ *args* <b> & `x` | {{ y }}')\n"
    )
    assert result.output["all"].splitlines() == [
        "a-b!",
        "to a file",
        "written",
        "{'a': 2, 'b': 1}",
        "__init__ *args* <b> & `x` | {{ y }}",
    ]


def test_a_run_starts_clean(program):
    text = (
        "import builtins, os, random, torch\n"
        "section('state')\n"
        "print(hasattr(builtins, 'left'), os.listdir(), torch.get_default_dtype(), random.Random(1).random())\n"
        "print(torch.get_num_threads())\n"
        "builtins.left = 1\n"
        "torch.set_default_dtype(torch.float64)\n"
        "torch.manual_seed(5)\n"
        "import pathlib\n"
        "pathlib.Path('file').write_text('x')\n"
    )
    first, second = program(text), program(text)
    assert first.output == second.output
    assert first.output["state"].startswith("False [] torch.float32")
    assert first.output["state"].splitlines()[1] == "1"


def test_files_are_listed_with_sizes_and_kept_by_pattern(program):
    result = program(
        "from pathlib import Path\n"
        "Path('a.txt').write_text('kept')\n"
        "Path('b.bin').write_bytes(bytes(7))\n"
        "Path('c.log').write_text('x')\n"
    )
    assert result.sizes == {"b.bin": 7}
    assert result.texts == {"a.txt": "kept"}


@pytest.mark.parametrize(
    ("value", "dtype", "numbers"),
    [
        ("[0.1, 1e-45, float('inf'), float('nan')]", "f32", np.float32([0.1, 1e-45, np.inf, np.nan])),
        ("torch.tensor([0.1, 5e-324], dtype=torch.float64)", "f64", np.float64([0.1, 5e-324])),
        ("torch.tensor(0.1, dtype=torch.bfloat16)", "bf16", np.float32(0.10009765625)),
        ("torch.tensor(0.1, dtype=torch.float16)", "f16", np.float16(0.1)),
        ("[[1, 2], [3, 9007199254740993]]", "i64", np.int64([[1, 2], [3, 9007199254740993]])),
        ("[True, False]", "bool", np.array([True, False])),
        ("[]", "f32", np.float32([])),
    ],
)
def test_values_are_kept_to_the_bit(program, tmp_path, value, dtype, numbers):
    kept = program(f"import torch\nrecord('x', {value})\n")
    running.save(kept, tmp_path / "saved", "command")
    for result in (kept, running.load(tmp_path / "saved")):
        got = result.values["x"]
        assert (got.kind, got.dtype, got.numbers.dtype, got.numbers.shape) == (
            "compared",
            dtype,
            numbers.dtype,
            numbers.shape,
        )
        assert got.numbers.tobytes() == numbers.tobytes()


def test_a_failing_run_keeps_both_streams_in_order(program):
    result = program("section('x')\nprint('before')\nraise SystemExit('after')\n", Run("main", {"pytorch": 1}))
    assert (result.status, result.output["x"]) == (1, "before\nafter")


def test_a_run_that_hangs_is_named(program, monkeypatch):
    monkeypatch.setattr(running, "TIMEOUT", 0.5)
    with pytest.raises(Stop, match=r"did not end within 0\.5 s"):
        program("import time\ntime.sleep(60)\n")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (
            "at /h/.cargo/registry/src/index.example-1949cf8c6b5b557f/burn-0.22.1/src/a.rs:1:2",
            "at burn-0.22.1/src/a.rs:1:2",
        ),
        ('File "/x/.venv/lib/python3.11/site-packages/torch/_tensor.py"', 'File "torch/_tensor.py"'),
        ("thread 'main' (8680819) panicked", "thread 'main' panicked"),
        ("at /rustc/0123456789abcdef0123456789abcdef01234567/library/std/src/a.rs", "at rustc/library/std/src/a.rs"),
        ("2026-11-29T15:51:07.355663Z  INFO x", "<time>  INFO x"),
        (str(Path("/place", "work", "run", "a.log")), "run/a.log"),
        (f"{Path.home()}/x", "~/x"),
    ],
)
def test_what_varies_is_normalised(text, normal):
    assert running.normalise(text, "/place") == normal
