"""Run one program of a lesson in a clean place, and keep what it printed, recorded and left behind."""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scripts.lessons import ROOT, Lesson, Run
from scripts.problems import Problem, Stop

TIMEOUT = 600  # seconds; a lesson's program takes a few
MARK = "\x1e"  # what lesson.section() prints before a section's name
NUMPY = {"f64": np.float64, "f32": np.float32, "flex32": np.float32, "f16": np.float16, "bf16": np.float32}
INTEGERS = {"i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"}
# What varies from run to run or from machine to machine, and what stands for it.
NORMALISED = [
    (re.compile(r"[^\s\"'(]*/registry/src/[^/\s]+/"), ""),
    (re.compile(r"[^\s\"'(]*/(?:site|dist)-packages/"), ""),
    (re.compile(r"[^\s\"'(]*/rustc/[0-9a-f]{40}/"), "rustc/"),
    (re.compile(r"(thread '[^']*') \(\d+\)"), r"\1"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
]


@dataclass(frozen=True)
class Value:
    """A recorded value: `numbers` has the dtype and shape that the program's tensor had (bf16 is held as float32)."""

    kind: str  # "compared" with the other side, "noted" for the page, or a duration in "seconds"
    dtype: str
    numbers: np.ndarray


@dataclass(frozen=True)
class Result:
    """What a run left: text by section, recorded values by name, files by path with size and, where kept, text."""

    status: int
    output: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def run(lesson: Lesson, side: str, run: Run, program: list[str]) -> Result:
    """Run `program` (the command without the run's arguments) in an empty folder.

    Raises `Stop` when it exits with another status than `run` states, when a run that states success writes to
    stderr (warnings included), or when what it printed or recorded is malformed.
    """
    expected = run.statuses[side]
    where = lesson.where(side) if run.name == "main" else f"{lesson.where(side)} (run {run.name})"
    with tempfile.TemporaryDirectory(prefix="lesson-") as place:
        folder = Path(place, "work")
        folder.mkdir()
        out = Path(place, "values.jsonl")
        out.touch()
        try:
            done = subprocess.run(
                [*program, *run.arguments],
                check=False,
                cwd=folder,
                env=environment(out),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if expected == 0 else subprocess.STDOUT,
                text=True,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise Stop(Problem(where, f"it did not end within {TIMEOUT} s", "make it quicker")) from None
        stdout, stderr = normalise(done.stdout, place), normalise(done.stderr or "", place)
        if done.returncode != expected:
            what = f"it exited with status {done.returncode}, not {expected}"
            raise Stop(Problem(where, what, f"mend the program, which said:\n{(stderr or stdout)[-3000:]}"))
        if expected == 0 and stderr.strip():
            raise Stop(Problem(where, f"it wrote to stderr: {stderr.strip()[:2000]}", "mend what it warns of"))
        return Result(
            status=done.returncode,
            output=split(stdout, where),
            values=parse_values(out.read_text().splitlines(), where),
            # Only the plain run's files are kept: the other runs leave the same ones again.
            sizes={} if run.arguments else sizes(folder, [*lesson.volatile_files, *lesson.kept_files]),
            texts={} if run.arguments else texts(folder, lesson.kept_files, place),
        )


def environment(out: Path) -> dict[str, str]:
    """One thread, no colours, no backtrace, and of the caller's variables only those that a program needs to start."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "LESSON_OUT": str(out),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "error",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "RUST_BACKTRACE": "0",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def normalise(text: str, place: str) -> str:
    """`text` without what varies from run to run: the machine's paths, thread ids, times."""
    text = text.replace(place + "/work/", "").replace(place, "").replace(f"{ROOT}/", "")
    text = text.replace(f"{Path(sys.base_prefix)}/", "").replace(f"{Path.home()}/", "~/")
    for pattern, stand_in in NORMALISED:
        text = pattern.sub(stand_in, text)
    return text


def split(stdout: str, where: str) -> dict[str, str]:
    """The text of each section. What is printed before the first section belongs to no page."""
    if "\x1b" in stdout:
        raise Stop(Problem(where, "its output has terminal escapes", "print without colours"))
    _, *parts = stdout.split(MARK)
    output = {}
    for part in parts:
        name, _, text = part.partition("\n")
        if name in output:
            raise Stop(Problem(f"{where} [{name}]", "the section begins twice", "give its second part another name"))
        output[name] = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return output


def parse_values(lines: list[str], where: str) -> dict[str, Value]:
    """The recorded values from their JSON lines."""
    values = {}
    for line in lines:
        entry = json.loads(line)
        name, dtype = entry["name"], entry["dtype"]
        if name in values:
            raise Stop(Problem(where, f"it records {name!r} twice", "give the second another name"))
        numpy = np.int64 if dtype in INTEGERS else NUMPY.get(dtype, np.bool_)
        numbers = np.array([float(x) if isinstance(x, str) else x for x in entry["values"]], dtype=numpy)
        values[name] = Value(entry["kind"], dtype, numbers.reshape(entry["shape"]))
    return values


def format_values(values: dict[str, Value]) -> str:
    """The values as JSON lines, which read back to the same bits."""

    def number(x):
        return str(x) if isinstance(x, float) and not np.isfinite(x) else x

    lines = [
        {
            "name": name,
            "kind": value.kind,
            "dtype": value.dtype,
            "shape": list(value.numbers.shape),
            "values": [number(x) for x in value.numbers.flatten().tolist()],
        }
        for name, value in values.items()
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def sizes(folder: Path, without: list[str]) -> dict[str, int]:
    """The size in bytes of every file below `folder` that matches no pattern of `without`, in the order of their paths."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    return {path: size for path, size in found.items() if not any(fnmatch.fnmatch(path, p) for p in without)}


def texts(folder: Path, kept: list[str], place: str) -> dict[str, str]:
    """The text of the files below `folder` that match a pattern of `kept`."""
    paths = sorted(path for pattern in kept for path in folder.glob(pattern))
    return {path.relative_to(folder).as_posix(): normalise(path.read_text(), place) for path in paths}


def save(result: Result, folder: Path, command: str) -> None:
    """Write a result below `folder`: run.json, values.jsonl, a text file for each section, the kept files."""
    folder.mkdir(parents=True)
    about = {"command": command, "status": result.status, "sections": list(result.output), "files": result.sizes}
    (folder / "run.json").write_text(json.dumps(about, indent=1) + "\n")
    (folder / "values.jsonl").write_text(format_values(result.values))
    for name, text in result.output.items():
        (folder / f"{name}.txt").write_text(text + "\n" if text else "")
    for path, text in result.texts.items():
        file = folder / "files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def load(folder: Path) -> Result:
    """Read back what `save` wrote."""
    about = json.loads((folder / "run.json").read_text())
    kept = sorted(path for path in (folder / "files").rglob("*") if path.is_file())
    return Result(
        status=about["status"],
        output={name: (folder / f"{name}.txt").read_text().removesuffix("\n") for name in about["sections"]},
        values=parse_values((folder / "values.jsonl").read_text().splitlines(), str(folder)),
        sizes=about["files"],
        texts={path.relative_to(folder / "files").as_posix(): path.read_text() for path in kept},
    )
