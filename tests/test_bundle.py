"""The zip of a lesson: whole, the same bytes every time, and it builds and runs where nothing else is."""

import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from scripts.bundle import bundle
from scripts.capture import captured
from scripts.execute import result
from scripts.lessons import ROOT, lessons

LESSONS = lessons()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
class TestBundle:
    def test_the_same_bytes_every_time(self, lesson):
        assert bundle(lesson, {}) == bundle(lesson, {})

    def test_what_is_in_it(self, lesson, tmp_path):
        archive = zipfile.ZipFile(io.BytesIO(bundle(lesson, {"x.ipynb": "{}"})))
        names = {name.removeprefix(f"{lesson.name}/") for name in archive.namelist()}
        assert {"README.md", "Cargo.toml", "Cargo.lock", "requirements.txt", "lesson/lib.rs", "x.ipynb"} <= names
        assert {f"snippets/{lesson.name}/{file}" for file in ("pytorch.py", "burn.rs", "Cargo.toml")} <= names
        inputs = (path for path in lesson.folder.rglob("*") if path.suffix in (".pt", ".safetensors"))
        for path in inputs:  # not text
            assert archive.read(f"{lesson.name}/{path.relative_to(ROOT).as_posix()}") == path.read_bytes()
        locked = tomllib.loads(archive.read(f"{lesson.name}/Cargo.lock").decode())["package"]
        mine = {package["name"] for package in locked if "source" not in package}
        assert mine == {"lesson", lesson.name}
        requirements = archive.read(f"{lesson.name}/requirements.txt").decode()
        assert all(f"{package}==" in requirements for package in ("torch", "numpy", "safetensors"))
        assert "http" not in requirements

    @pytest.mark.xdist_group("cargo")
    def test_it_builds_and_runs(self, lesson, tmp_path):
        zipfile.ZipFile(io.BytesIO(bundle(lesson, {}))).extractall(tmp_path)
        place = tmp_path / lesson.name
        environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "PYTHONPATH": str(place)}
        environment.pop("LESSON_OUT", None)
        burn = ["cargo", "run", "--quiet", "--release", "--locked", "--offline", "-p", lesson.name]
        printed = []
        for command in (burn, [sys.executable, f"snippets/{lesson.name}/pytorch.py"], burn):
            done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            printed.append(re.split(r"^== ([\w-]+) ==\n", done.stdout, flags=re.MULTILINE)[1:])
        first, pytorch, again = printed
        assert first[::2] == list(captured(lesson, lesson.runs["main"]).output)
        assert pytorch[::2] == list(result(lesson, lesson.runs["main"]).output)
        assert again == first, "run again in the same folder, it prints something else"
