"""Run the burn programs and keep what they did in `snippets/<lesson>/captured/`, which is committed.

`python -m scripts.capture` runs what changed; `--all` runs everything; `--check` runs everything and compares it with
what is kept: text exactly and numbers to the bit on the processor that captured them, to ULPS on any other.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np

from scripts import machine
from scripts.lessons import ROOT, Lesson, Run, burn_version, lessons
from scripts.problems import Problem, Stop
from scripts.run import Result, load, run, save

# How far a number may move on another processor. Kernels with another vector width add in another order; over the
# hundred steps of the longest training here that was seen to come to some ten units in the last place of float32
# at the scale of the series. Four times that leaves room for processors not seen.
ULPS = 64
EPSILON = float(np.finfo(np.float32).eps)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
MEND = "make capture"


def command(lesson: Lesson, run: Run) -> str:
    """What a reader types to repeat the run."""
    arguments = ["--", *run.arguments] if run.arguments else []
    return " ".join(["cargo run --release --locked -p", lesson.name, *arguments])


def build() -> Path:
    """Build every program with cargo; returns the folder of the binaries."""
    if shutil.which("cargo") is None:
        raise Stop(Problem("cargo", "there is no Rust toolchain on the path", "install one from rustup.rs"))
    arguments = ["cargo", "build", "--release", "--locked", "--workspace", "--bins"]
    done = subprocess.run(arguments, check=False, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Stop(Problem("snippets/*/burn.rs", f"cargo does not build them:\n{done.stdout[-6000:]}", "mend the code"))
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def burn_runs(lesson: Lesson) -> list[Run]:
    return [run for run in lesson.runs.values() if "burn" in run.statuses]


def results(lesson: Lesson, binaries: Path) -> dict[str, Result]:
    return {which.name: run(lesson, "burn", which, [str(binaries / lesson.name)]) for which in burn_runs(lesson)}


def digest(folder: Path) -> str:
    """A hash of every file below `folder` but the provenance itself."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "provenance.json"):
        found.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def provenance(lesson: Lesson) -> dict:
    """Where the lesson's captures come from, as `capture` wrote it."""
    return json.loads((lesson.folder / "captured" / "provenance.json").read_text())


def check_fresh(lesson: Lesson) -> list[Problem]:
    """Whether the lesson's captures are whole, untouched, and made from the sources as they are; runs nothing."""
    where = f"snippets/{lesson.name}/captured"
    try:
        kept = provenance(lesson)
    except FileNotFoundError:
        return [Problem(where, "burn.rs was never captured", MEND)]
    except json.JSONDecodeError:
        return [Problem(where, "provenance.json was edited by hand", f"rm -r {where} && {MEND}")]
    if kept.get("burn") != burn_version():
        return [Problem(where, f"it was captured with burn {kept.get('burn')}, Cargo.lock has {burn_version()}", MEND)]
    if kept.get("key") != lesson.key("burn"):
        return [
            Problem(where, f"{lesson.where('burn')}, or what it is built with, changed after it was captured", MEND)
        ]
    if kept.get("digest") != digest(lesson.folder / "captured"):
        return [Problem(where, "a captured file was edited by hand", f"rm -r {where} && {MEND}")]
    return []


def captured(lesson: Lesson, run: Run) -> Result:
    return load(lesson.folder / "captured" / run.name)


def capture(lesson: Lesson, binaries: Path, key: str) -> None:
    """Run the lesson's burn program twice, hold the runs against each other, and replace `captured/` as a whole.

    `key` is the lesson's from before the programs were built: sources that changed since then are an error.
    """
    first, second = results(lesson, binaries), results(lesson, binaries)
    for name in first:
        for problem in differences(first[name], second[name], exact=True):
            where = f"{lesson.where('burn')} (run {name}) {problem.where}"
            raise Stop(Problem(where, f"two runs differ: {problem.what}", "make the program deterministic"))
    if lesson.key("burn") != key:
        raise Stop(Problem(lesson.where("burn"), "it was changed while its program was built and run", MEND))
    final = lesson.folder / "captured"
    work = ROOT / ".cache"
    work.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="capture-") as staging:
        folder = Path(staging, "captured")
        for name, result in first.items():
            save(result, folder / name, command(lesson, lesson.runs[name]))
        about = {
            "burn": burn_version(),
            "features": features(),
            "rustc": machine.rustc(),
            "processor": machine.processor(),
            "system": machine.system(),
            "date": datetime.date.today().isoformat(),
            "key": key,
            "digest": digest(folder),
        }
        (folder / "provenance.json").write_text(json.dumps(about, indent=1) + "\n")
        if final.exists():
            os.replace(final, Path(staging, "old"))
        os.replace(folder, final)


def features() -> list[str]:
    """The features of burn that every program is built with, from the workspace's manifest."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]["burn"]["features"]


def check(lesson: Lesson, binaries: Path) -> list[Problem]:
    """Run the lesson's burn program and name what differs from its captures."""
    exact = provenance(lesson)["processor"] == machine.processor()
    where = f"snippets/{lesson.name}/captured"
    return [
        Problem(f"{where}/{name}/{problem.where}", problem.what, MEND)
        for name, result in results(lesson, binaries).items()
        for problem in differences(captured(lesson, lesson.runs[name]), result, exact)
    ]


def differences(kept: Result, now: Result, exact: bool) -> list[Problem]:
    """What differs between two results of one program; durations may. `where` of each is a file in a run's folder."""
    found = []
    for what, before, after in [
        ("sections", list(kept.output), list(now.output)),
        ("recorded names", list(kept.values), list(now.values)),
        ("files", kept.sizes, now.sizes),
        ("kept files", list(kept.texts), list(now.texts)),
    ]:
        if before != after:
            found.append(Problem("run.json", f"{what} were {before}, are {after}", MEND))
    if found:
        return found
    for name, text in [*kept.output.items(), *kept.texts.items()]:
        file = f"{name}.txt" if name in kept.output else f"files/{name}"
        found += text_differences(file, text, {**now.output, **now.texts}[name], exact)
    for name, value in kept.values.items():
        other = now.values[name]
        if value.kind == "seconds":
            continue
        if (value.kind, value.dtype, value.numbers.shape) != (other.kind, other.dtype, other.numbers.shape):
            what = f"{name} was {value.kind} {value.dtype} {value.numbers.shape}, is {other.kind} {other.dtype} {other.numbers.shape}"
            found.append(Problem("values.jsonl", what, MEND))
        elif not near(value.numbers, other.numbers, exact):
            worst = np.nanmax(np.abs(value.numbers.astype(float) - other.numbers.astype(float)))
            what = f"{name} moved by up to {worst:.3g}, more than {'0' if exact else ULPS} ulp"
            found.append(Problem("values.jsonl", what, MEND))
    return found


def near(before: np.ndarray, after: np.ndarray, exact: bool) -> bool:
    """Whether the numbers are the same bits (NaN included), or within ULPS of float32 at the scale of their series."""
    if exact or not np.issubdtype(before.dtype, np.floating):
        return before.tobytes() == after.tobytes()
    finite = np.abs(before[np.isfinite(before)]).astype(float)
    scale = max(float(finite.max(initial=0.0)), float(np.finfo(np.float32).tiny))
    return np.allclose(before.astype(float), after.astype(float), rtol=0, atol=ULPS * EPSILON * scale, equal_nan=True)


def text_differences(file: str, before: str, after: str, exact: bool) -> list[Problem]:
    """The first line in which two texts differ; unless `exact`, numbers with a point may be ULPS and a digit apart."""
    lines, others = before.splitlines(), after.splitlines()
    if len(lines) != len(others):
        return [Problem(file, f"it had {len(lines)} lines, has {len(others)}", MEND)]
    for number, (line, other) in enumerate(zip(lines, others), start=1):
        if line != other and (exact or not near_text(line, other)):
            return [Problem(f"{file}:{number}", f"it read {line!r}, reads {other!r}", MEND)]
    return []


def near_text(line: str, other: str) -> bool:
    if NUMBER.sub("#", line) != NUMBER.sub("#", other):
        return False
    for a, b in zip(NUMBER.findall(line), NUMBER.findall(other)):
        digits = min(len(x.partition("e")[0].partition(".")[2]) for x in (a, b))
        room = ULPS * EPSILON * max(abs(float(a)), abs(float(b)), 1.0) + 10.0**-digits
        if abs(float(a) - float(b)) > room:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="run everything, changed or not")
    parser.add_argument("--check", action="store_true", help="run everything and compare, write nothing")
    options = parser.parse_args()
    try:
        found = lessons()
        if options.check:
            problems = [problem for lesson in found for problem in check_fresh(lesson)]
            if not problems:
                binaries = build()
                problems = [problem for lesson in found for problem in check(lesson, binaries)]
            if problems:
                raise Stop(*problems)
            print(f"captures of {len(found)} lesson(s) hold")
        else:
            stale = [lesson for lesson in found if options.all or check_fresh(lesson)]
            keys = {lesson.name: lesson.key("burn") for lesson in stale}
            binaries = build() if stale else None
            for lesson in stale:
                capture(lesson, binaries, keys[lesson.name])
                print(f"captured {lesson.name}")
            if not stale:
                print("every capture is up to date")
    except Stop as stop:
        sys.exit(str(stop))


if __name__ == "__main__":
    main()
