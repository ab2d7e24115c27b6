"""A lesson to take home: one zip with both programs, what they need, what burn did here, and how to run it all."""

import io
import re
import tomllib
import zipfile
from pathlib import Path

from scripts import capture, machine
from scripts.lessons import ROOT, SIDES, Lesson, lessons

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever the zip is made
BESIDE_TORCH = re.compile(r"^((?:numpy|safetensors)==.*?)(?=^\S)", re.MULTILINE | re.DOTALL)


def bundle(lesson: Lesson, extra: dict[str, str]) -> bytes:
    """The zip's bytes; `extra` files (the notebooks) by name. The layout is the repository's, cut down to one lesson."""
    files: dict[str, str | bytes] = {
        "README.md": readme(lesson, list(extra)),
        "Cargo.toml": workspace(lesson),
        "Cargo.lock": lock(lesson),
        "requirements.txt": requirements(),
        **extra,
    }
    for folder in (ROOT / "lesson", lesson.folder):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.name not in ("claims.py", "notebook.py"):
                files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(zipfile.ZipInfo(f"{lesson.name}/{name}", EPOCH), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def workspace(lesson: Lesson) -> str:
    return (ROOT / "Cargo.toml").read_text().replace('"snippets/*"', f'"snippets/{lesson.name}"')


def lock(lesson: Lesson) -> str:
    """Cargo.lock without the other lessons, so that `--locked` holds in the zip."""
    others = {found.name for found in lessons()} - {lesson.name}
    head, *packages = (ROOT / "Cargo.lock").read_text().split("[[package]]\n")
    kept = [text for text in packages if tomllib.loads(text)["name"] not in others]
    return "[[package]]\n".join([head, *kept]).rstrip("\n") + "\n"


def requirements() -> str:
    """torch, numpy and safetensors with all that they need, pinned and hashed."""
    beside = "".join(BESIDE_TORCH.findall((ROOT / "requirements.txt").read_text()))
    return (ROOT / "requirements-torch.txt").read_text() + beside


def readme(lesson: Lesson, extra: list[str]) -> str:
    about = capture.provenance(lesson)
    runs = list(lesson.runs.values())
    pytorch = "\n".join(f"PYTHONPATH=. python {command(lesson, r.arguments)}" for r in runs if "pytorch" in r.statuses)
    burn = "\n".join(capture.command(lesson, run) for run in runs if "burn" in run.statuses)
    notebooks = (
        f"\nThe notebooks ({', '.join(extra)}) need Jupyter and torch, and nothing else of this folder.\n"
        if extra
        else ""
    )
    return f"""# {lesson.name}

The same thing in PyTorch and in burn. PyTorch {machine.torch()}, burn {about["burn"]}, Python 3.11 or newer, Rust 1.95 or newer.

```sh
python -m venv .venv && . .venv/bin/activate
pip install --require-hashes -r requirements.txt
{pytorch}
{burn}
```

`snippets/{lesson.name}/captured/` holds what burn did on {about["processor"]} with rustc {about["rustc"]}, {about["date"]}.
With the variable LESSON_OUT set to a file's name, a program also writes its recorded values there, a JSON object a line.
{notebooks}"""


def command(lesson: Lesson, arguments: list[str]) -> str:
    return " ".join([f"snippets/{lesson.name}/pytorch.py", *arguments])


def write(lesson: Lesson, folder: Path) -> None:
    """Write the lesson's zip into `folder`, its notebooks by themselves, and both programs below the lesson's name."""
    from scripts import notebook

    (folder / lesson.name).mkdir(parents=True, exist_ok=True)
    for side in SIDES:
        (folder / lesson.name / SIDES[side]).write_bytes(lesson.program(side).read_bytes())
    extra = {}
    if notebook.source(lesson).exists():
        done = notebook.executed(lesson)
        extra = {f"{lesson.name}.{language}.ipynb": notebook.text(done, language) for language in ("zh", "en")}
    for name, text in extra.items():
        (folder / name).write_text(text)
    (folder / f"{lesson.name}.zip").write_bytes(bundle(lesson, extra))
