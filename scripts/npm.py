"""The few packages that come from npm: each in a folder of `scripts/` whose package.json pins one."""

import json
import subprocess
from pathlib import Path

from scripts.problems import Problem, Stop

SCRIPTS = Path(__file__).resolve().parent


def version(folder: str) -> str:
    """The version of its one package that the folder's package.json pins."""
    (pinned,) = json.loads((SCRIPTS / folder / "package.json").read_text())["dependencies"].values()
    return pinned


def package(folder: str) -> Path:
    """Where the folder's package is installed, which it is now if it was not. Raises `Stop` if npm can't."""
    (name,) = json.loads((SCRIPTS / folder / "package.json").read_text())["dependencies"]
    place = SCRIPTS / folder / "node_modules" / name
    installed = place.exists() and json.loads((place / "package.json").read_text())["version"]
    command = ["npm", "ci", "--ignore-scripts", "--silent"]
    if installed != version(folder) and subprocess.run(command, cwd=SCRIPTS / folder, check=False).returncode:
        raise Stop(Problem(f"scripts/{folder}", f"npm could not install {name}", f"npm ci --prefix scripts/{folder}"))
    return place
