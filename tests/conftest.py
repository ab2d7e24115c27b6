"""Fixtures that several tests share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.lessons import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def mkdocs_build(root: Path, site: Path) -> subprocess.CompletedProcess:
    """Build the site of the repository (or copy) `root` into `site`, with both streams in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The site, built from the sources as they are."""
    place = tmp_path_factory.mktemp("built") / "site"
    done = mkdocs_build(ROOT, place)
    assert done.returncode == 0, done.stdout
    return place
