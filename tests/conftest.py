"""Fixtures that several tests share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from playwright.sync_api import Browser, sync_playwright

from scripts.drawing import BROWSERS
from scripts.host import hosted
from scripts.lessons import ROOT
from tests.reading import ARGUMENTS, Reader

CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items) -> None:
    """Stop if pytest-xdist would tear the groups apart: it marks them in the ids, which pytest 9.2 computes anew."""
    if config.getoption("loadgroup", False):
        loose = [item.nodeid for item in items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid]
        if loose:
            raise pytest.UsageError(f"these tests are to run in a group and would not: {', '.join(loose[:3])}")


def mkdocs_build(root: Path, site: Path, **environment: str) -> subprocess.CompletedProcess:
    """Build the site of the repository (or copy) `root` into `site`, with both streams in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id) -> Path:
    """The site, built from the sources as they are, once for all processes that test. Nothing is to be changed in it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "built"
    with FileLock(f"{place}.lock"):
        if not place.exists():
            done = mkdocs_build(ROOT, base / "being-built")
            assert done.returncode == 0, done.stdout
            (base / "being-built").rename(place)
    return place


def sources() -> list[Path]:
    """Every file of the repository that is, or would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of the repository to break, with the kept results of its PyTorch runs."""
    root = tmp_path / "copy"
    for source in sources():
        target = root / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    for kept in ("runs", "notebooks", "plots"):
        if (ROOT / ".cache" / kept).exists():
            shutil.copytree(ROOT / ".cache" / kept, root / ".cache" / kept)
    return root


@pytest.fixture(scope="session", autouse=True)
def executed() -> None:
    """Run what no result is kept of, and check the sources, once, before any test copies them."""
    from scripts.checks import everything

    (ROOT / ".cache").mkdir(exist_ok=True)
    with FileLock(ROOT / ".cache" / "executed.lock"):
        everything()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests; without one they are skipped, except in CI, where that is a failure."""
    if CHROMIUM is None:
        why = "there is no Chromium to test the site with: make browser"
        pytest.fail(why, pytrace=False) if os.environ.get("CI") else pytest.skip(why)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    """The address at which the site is served."""
    with hosted(site) as served:
        yield served


@pytest.fixture(scope="module")
def reader(browser: Browser, server: str) -> Iterator[Reader]:
    made = Reader(browser, server)
    yield made
    made.context.close()


@pytest.fixture(scope="module")
def looker(browser: Browser, server: str) -> Iterator[Reader]:
    """A reader for the tests that share a page."""
    made = Reader(browser, server)
    made.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    yield made
    made.context.close()


@pytest.fixture(scope="module")
def opened(looker: Reader, request) -> Reader:
    """A reader at the page that the test is parametrised with; tests leave it there."""
    looker.begin(request.param.screen).open(request.param.language, request.param.path)
    return looker


@pytest.fixture(scope="module")
def scriptless(browser: Browser, server: str) -> Iterator[Reader]:
    """A reader whose browser runs no scripts."""
    made = Reader(browser, server, java_script_enabled=False)
    yield made
    made.context.close()
