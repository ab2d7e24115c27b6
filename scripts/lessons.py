"""The lessons on disk: their programs, the sections in them, the runs that they declare, and what each depends on."""

import ast
import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from scripts.problems import Problem, Stop

ROOT = Path(__file__).resolve().parent.parent
SNIPPETS = ROOT / "snippets"
SIDES = {"pytorch": "pytorch.py", "burn": "burn.rs"}
LABELS = {"pytorch": "PyTorch", "burn": "burn"}
# What neither program reads; any other file of a lesson's folder counts as an input of both programs.
NOT_INPUTS = {
    *("pytorch.py", "burn.rs", "Cargo.toml", "claims.py", "elsewhere.toml", "notebook.py"),
    *("captured", "__pycache__"),
}
MARK = re.compile(r"^\s*(?:#|//) --8<-- \[(start|end|part):([\w-]*)\]\s*$")
CALL = re.compile(r"""^\s*section\(["'][\w-]+["']\);?\s*$""")
OUTPUT = re.compile(r"""\bsection\(\s*"([\w-]+)"\s*\)""")


class Code(str):
    """A section's code. `parts` tells of each marked part, by name, its lines: ranges in the code's lines from 0 on."""

    parts: dict[str, list[range]]

    def __new__(cls, text: str, parts: dict[str, list[range]] | None = None):
        made = super().__new__(cls, text)
        made.parts = parts or {}
        return made


@dataclass(frozen=True)
class Run:
    """One way to run a lesson's programs: `name` is the argument (`main`: none), `statuses` the exit status by side."""

    name: str
    statuses: dict[str, int]

    @property
    def arguments(self) -> list[str]:
        return [] if self.name == "main" else [self.name]


@dataclass(frozen=True)
class Lesson:
    """A folder of `snippets/` with a PyTorch and a burn program of the same content."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def program(self, side: str) -> Path:
        return self.folder / SIDES[side]

    def where(self, side: str, section: str = "") -> str:
        path = f"snippets/{self.name}/{SIDES[side]}"
        return f"{path} [{section}]" if section else path

    @cached_property
    def manifest(self) -> dict:
        return tomllib.loads((self.folder / "Cargo.toml").read_text())

    @cached_property
    def metadata(self) -> dict:
        return self.manifest.get("package", {}).get("metadata", {})

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The plain run, `main`, and those that Cargo.toml declares under `[package.metadata.runs]`."""
        runs = {"main": Run("main", {side: 0 for side in SIDES})}
        for name, statuses in self.metadata.get("runs", {}).items():
            if name == "main" or not statuses or not set(statuses) <= set(SIDES):
                raise Stop(
                    Problem(
                        f"snippets/{self.name}/Cargo.toml [package.metadata.runs]",
                        f"run {name!r} is not a table of exit statuses by side ({', '.join(SIDES)})",
                        'write it as: name = { pytorch = 0, burn = 0 }, and leave "main" out',
                    )
                )
            runs[name] = Run(name, dict(statuses))
        return runs

    @property
    def kept_files(self) -> list[str]:
        """Patterns of the text files that a run leaves and a page shows."""
        return self.metadata.get("files", {}).get("keep", [])

    @property
    def volatile_files(self) -> list[str]:
        """Patterns of the files that differ from run to run, such as logs with the time in them."""
        return self.metadata.get("files", {}).get("volatile", [])

    def sections(self, side: str) -> dict[str, Code]:
        """The code between the marks, by name, dedented. Raises `Stop` where the marks are wrong."""
        return dict(parse_sections(self.program(side).read_text(), self.where(side)))

    def outputs(self, side: str) -> list[str]:
        """The names of the sections in which the program prints."""
        return OUTPUT.findall(self.program(side).read_text())

    def key(self, side: str) -> str:
        """A hash of the sources that the program's output depends on (for burn, of the crates that it is built with)."""
        digest = hashlib.sha256()
        files = self.pytorch_sources() if side == "pytorch" else self.burn_sources()
        extra = sorted(p for p in self.folder.rglob("*") if not NOT_INPUTS & set(p.relative_to(self.folder).parts))
        for path in [*files, *(p for p in extra if p.is_file())]:
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
        if side == "burn":
            digest.update(repr(locked(self.name)).encode())
        return digest.hexdigest()

    def pytorch_sources(self) -> list[Path]:
        """The program and, one from another, the files of this repository that it imports. Cargo.toml declares runs."""
        found, todo = [], [self.program("pytorch")]
        while todo:
            path = todo.pop()
            if path not in found:
                found.append(path)
                todo += local_imports(path, [path.parent, ROOT])
        return [*found, self.folder / "Cargo.toml"]

    def burn_sources(self) -> list[Path]:
        crate = sorted((ROOT / "lesson").glob("*.rs"))
        manifests = [self.folder / "Cargo.toml", ROOT / "lesson" / "Cargo.toml", ROOT / "Cargo.toml"]
        return [self.program("burn"), *crate, *manifests]


def lessons() -> list[Lesson]:
    """Every lesson, by name. A folder with a program on one side only, or without a claims.py, is an error."""
    found = [Lesson(path) for path in sorted(SNIPPETS.iterdir()) if path.is_dir()]
    missing = [
        Problem(
            f"snippets/{lesson.name}",
            f"there is no {file}",
            f"write it, or remove the folder (make lesson NAME={lesson.name})",
        )
        for lesson in found
        for file in [*SIDES.values(), "Cargo.toml", "claims.py"]
        if not (lesson.folder / file).is_file()
    ]
    if missing:
        raise Stop(*missing)
    return found


def lesson(name: str) -> Lesson:
    for found in lessons():
        if found.name == name:
            return found
    raise Stop(Problem(f"snippets/{name}", "there is no such lesson", f"make lesson NAME={name}"))


@cache
def parse_sections(text: str, where: str) -> dict[str, Code]:
    """The lines between `--8<-- [start:name]` and `[end:name]`, by name; sections may nest.

    `[part:name]` begins a part of the sections around it, which ends at the next such mark (`[part:]` begins none) or
    with the section. A line that only calls `section` is left out: it parts the output, and is no business of the
    reader's.

    Raises `Stop` for a section that is doubled, unclosed, empty, or closed without being open, and for a part that is
    empty or outside of all sections.
    """
    open_sections: dict[str, tuple[int, list[str], list[tuple[int, str]]]] = {}
    done: dict[str, Code] = {}
    problems = []

    def problem(line: int, what: str, mend: str) -> None:
        problems.append(Problem(f"{where}:{line}", what, mend))

    for number, line in enumerate(text.splitlines(), start=1):
        mark = MARK.match(line)
        if not mark:
            if "--8<--" in line:
                problem(
                    number,
                    f"not a section mark: {line.strip()}",
                    "put each mark in a comment line of its own, as in the other lessons",
                )
            if not CALL.match(line):
                for _, body, _ in open_sections.values():
                    body.append(line)
            continue
        kind, name = mark.groups()
        if kind == "part":
            if not open_sections:
                problem(number, f"part {name!r} is in no section", "put the mark between a section's marks")
            for _, body, marks in open_sections.values():
                marks.append((len(body), name))
        elif kind == "start":
            if name in open_sections or name in done:
                problem(number, f"section {name!r} is there twice", "give it another name")
            open_sections[name] = (number, [], [])
        elif name not in open_sections:
            problem(number, f"section {name!r} ends but never began", f"add [start:{name}] above")
        else:
            _, body, marks = open_sections.pop(name)
            done[name] = Code(dedent(body), parts(body, marks))
            if not done[name].strip():
                problem(number, f"section {name!r} is empty", "put the code between its marks")
            for part in (part for part, ranges in done[name].parts.items() if not all(ranges)):
                problem(number, f"part {part!r} of section {name!r} is empty", "put its mark above the lines it marks")
    for name, (number, _, _) in open_sections.items():
        problem(number, f"section {name!r} has no end mark", f"add [end:{name}] below")
    if problems:
        raise Stop(*problems)
    return done


def dedent(lines: list[str]) -> str:
    """The lines without the indentation that all of them share and without blank lines around them."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines).strip("\n")


def parts(lines: list[str], marks: list[tuple[int, str]]) -> dict[str, list[range]]:
    """The lines of each part, without blank lines at its end; `marks` are the places where parts begin, with names."""
    lead = next((number for number, line in enumerate(lines) if line.strip()), 0)
    found: dict[str, list[range]] = {}
    for (start, name), (end, _) in zip(marks, [*marks[1:], (len(lines), "")]):
        while end > start and not lines[end - 1].strip():
            end -= 1
        if name:
            found.setdefault(name, []).append(range(start - lead, end - lead))
    return found


@cache
def imports(text: str) -> list[str]:
    """The names of the modules that a Python source may import."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return sorted(names)


def local_imports(path: Path, folders: list[Path]) -> list[Path]:
    """The files in `folders` that a Python file imports."""
    files = [folder / Path(*name.split(".")) for name in imports(path.read_text()) for folder in folders]
    candidates = [p for file in files for p in (file.with_suffix(".py"), file / "__init__.py")]
    return [p for p in candidates if p.is_file()]


@cache
def lock_entries(text: str) -> dict[str, list[dict]]:
    """The packages of a Cargo.lock by name."""
    packages: dict[str, list[dict]] = {}
    for entry in tomllib.loads(text)["package"]:
        packages.setdefault(entry["name"], []).append(entry)
    return packages


def locked(package: str, lock: Path | None = None) -> list[tuple[str, str, str]]:
    """Name, version and checksum of every crate that `package` is built with, from Cargo.lock."""
    packages = lock_entries((lock or ROOT / "Cargo.lock").read_text())
    if package not in packages:
        raise Stop(Problem("Cargo.lock", f"it knows no package {package!r}", "cargo update --workspace --offline"))
    found, todo = {}, [packages[package][0]]
    while todo:
        entry = todo.pop()
        key = (entry["name"], entry["version"], entry.get("checksum", ""))
        if key in found:
            continue
        found[key] = True
        for dependency in entry.get("dependencies", []):
            name, _, version = dependency.partition(" ")
            todo += [e for e in packages[name] if not version or e["version"] == version.split(" ")[0]]
    return sorted(found)


def burn_version() -> str:
    """The version of burn that Cargo.lock pins."""
    return next(version for name, version, _ in locked("lesson") if name == "burn")
