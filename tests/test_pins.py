"""Every dependency is pinned, no lock names a registry's host, and burn is asked for once."""

import json
import re
import tomllib

import pytest

from scripts.lessons import ROOT, lessons
from tests.conftest import sources

LOCKS = ["requirements.txt", "requirements-torch.txt", "requirements-uv.txt"]


@pytest.mark.parametrize("name", LOCKS)
def test_every_python_package_has_a_version_and_a_hash(name):
    entries = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
    for entry in entries:
        if not entry.startswith("#"):
            assert re.match(r"[a-z0-9._-]+==[^\s;]+", entry), entry
            assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("name", [*LOCKS, "Cargo.lock", "scripts/mermaid/package-lock.json"])
def test_no_lock_names_a_host(name):
    hosts = re.findall(r"https?://[^\s\"']+", (ROOT / name).read_text())
    assert not [host for host in hosts if "github.com/rust-lang/" not in host]


def test_what_is_asked_for_is_what_is_locked():
    for name in ("requirements", "requirements-torch", "requirements-uv"):
        wanted = [line for line in (ROOT / f"{name}.in").read_text().splitlines() if line and not line.startswith("#")]
        locked = dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", (ROOT / f"{name}.txt").read_text(), re.MULTILINE))
        for line in wanted:
            package, exact, version = line.partition("==")
            assert re.split(r"[<\[]", package)[0] in locked, line
            assert not exact or locked[package] == version, line


def test_crates_are_pinned_once_in_the_workspace():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    for name, wanted in workspace.items():
        version = wanted if isinstance(wanted, str) else wanted.get("version", "")
        assert version.startswith("=") or "path" in wanted, name
    assert workspace["burn"] == {
        "version": "=0.22.1",
        "default-features": False,
        "features": ["std", "flex", "autodiff", "optim", "train", "pytorch", "safetensors"],
    }
    members = [ROOT / "lesson" / "Cargo.toml", *(lesson.folder / "Cargo.toml" for lesson in lessons())]
    for manifest in members:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, wanted in tomllib.loads(manifest.read_text()).get(kind, {}).items():
                assert wanted == {"workspace": True}, f"{manifest}: {name}"


@pytest.mark.parametrize(
    "manifest", sorted((ROOT / "scripts").glob("*/package.json")), ids=lambda path: path.parent.name
)
def test_npm_packages_are_pinned(manifest):
    wanted = json.loads(manifest.read_text())
    assert wanted["dependencies"]
    for name, version in {**wanted["dependencies"], **wanted.get("devDependencies", {})}.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
    assert "resolved" not in (manifest.parent / "package-lock.json").read_text()


def test_actions_are_pinned_to_commits():
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        for action in re.findall(r"uses: (\S+)", workflow.read_text()):
            assert re.search(r"@[0-9a-f]{40}$", action), f"{workflow.name}: {action}"


def test_no_file_names_a_path_of_a_machine():
    path = re.compile(r"(?<![\w.~])/(?:root|home|Users)/[A-Za-z]")
    for source in sources():
        if source.suffix not in {".svg", ".png"} and source.name != "test_pins.py":
            assert not path.search(source.read_text(errors="replace")), source.relative_to(ROOT)


def test_no_toolchain_file_makes_rustup_download_one():
    assert not [name for name in ("rust-toolchain", "rust-toolchain.toml") if (ROOT / name).exists()]
    assert tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"] == "1.95"
