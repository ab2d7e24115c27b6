"""Building: what runs when, and that neither the order of languages nor a reload changes what a page shows."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import lxml.html
import pytest
import yaml

from scripts.check_pages import Loader
from scripts.lessons import ROOT
from tests.conftest import mkdocs_build

RAN = re.compile(r"running snippets/(\S+)")


def code(page: str) -> list[str]:
    return [block.text_content() for block in lxml.html.document_fromstring(page).cssselect("article pre > code")]


def pages(site: Path) -> dict[str, list[str]]:
    return {path.relative_to(site).as_posix(): code(path.read_text()) for path in sorted(site.rglob("index.html"))}


def test_each_program_runs_once_for_both_languages_and_not_again(copy, tmp_path):
    program = copy / "snippets/training-loop/pytorch.py"
    program.write_text(program.read_text() + "# changed\n")
    first = mkdocs_build(copy, tmp_path / "first")
    assert first.returncode == 0, first.stdout
    runs = sorted(RAN.findall(first.stdout))
    assert len(runs) == 4, first.stdout  # the plain run and the three that Cargo.toml declares
    second = mkdocs_build(copy, tmp_path / "second")
    assert second.returncode == 0, second.stdout
    assert RAN.findall(second.stdout) == []
    assert pages(tmp_path / "first") == pages(tmp_path / "second")


def test_a_build_with_nothing_to_run_does_not_import_torch(copy, tmp_path):
    (tmp_path / "fake" / "torch").mkdir(parents=True)
    (tmp_path / "fake" / "torch" / "__init__.py").write_text("raise RuntimeError('torch was imported')\n")
    done = mkdocs_build(copy, tmp_path / "site", PYTHONPATH=str(tmp_path / "fake"))
    assert done.returncode == 0, done.stdout


def test_the_order_of_languages_does_not_change_a_page(copy, site, tmp_path):
    config = (copy / "mkdocs.yml").read_text()
    head, zh, rest = re.split(
        r"(        - locale: zh\n.*?)(?=        - locale: en\n)", config, maxsplit=1, flags=re.DOTALL
    )
    en, tail = re.split(r"(?<=\n)(?=  - macros:)", rest, maxsplit=1)
    swapped = (
        (en + zh)
        .replace("          default: true\n", "")
        .replace("- locale: en\n", "- locale: en\n          default: true\n")
    )
    (copy / "mkdocs.yml").write_text(head + swapped + tail)
    done = mkdocs_build(copy, tmp_path / "swapped")
    # English is at the root now, where the checks of the site expect Chinese: they say so, after everything is built.
    assert "its lang is 'en', not 'zh'" in done.stdout, done.stdout
    usual, other = pages(site), pages(tmp_path / "swapped")
    assert other["main-line/training-loop/index.html"] == usual["en/main-line/training-loop/index.html"]
    assert other["zh/main-line/training-loop/index.html"] == usual["main-line/training-loop/index.html"]


@pytest.mark.xdist_group("serve")
def test_reloads_change_what_was_edited_alone_and_an_error_is_shown_and_got_over(copy, site, tmp_path):
    page = copy / "docs/main-line/training-loop.zh.md"
    text = page.read_text()
    with ServedSite(copy, tmp_path / "log") as served:
        usual = pages(site)["main-line/training-loop/index.html"]
        assert served.code("") == usual
        # A title is shown by other pages too, so everything is rendered; prose is its page's alone.
        for old, new, how in (
            ("# 训练循环 {", "# 训练循环又循环 {", "Documentation built in"),
            ("# 训练循环 {", "# 训练循环 {", "Documentation built in"),
            ("一个两层 MLP", "一个小小的两层 MLP", r"rendered main-line/training-loop\.zh\.md"),
        ):
            page.write_text(text.replace(old, new))
            served.logged(how)
            served.rebuilt()
            assert new.strip("# {") in served.page("")
            assert served.code("") == served.code("en/") == usual

        page.write_text(text.replace('{{ pair("train") }}', '{{ pair("nothing") }}'))
        served.logged("languages part here")
        served.rebuilt()
        told = served.page("")
        assert 'id="error"' in told and "languages part here" in told and "To mend: " in told
        assert 'id="error"' not in served.page("en/")
        page.write_text(text)
        served.rebuilt()
        assert 'id="error"' not in served.page("")
        assert served.code("") == served.code("en/") == usual

        settings = (copy / "mkdocs.yml").read_text()
        (copy / "mkdocs.yml").write_text(settings.replace("on_undefined: strict", "on_undefined: whatever"))
        served.logged("Illegal value")
        served.rebuilt()
        assert 'id="error"' in served.page("") and 'id="error"' in served.page("en/")
        assert "running snippets/" not in served.log.read_text()


class ServedSite:
    """`mkdocs serve` in a folder, on a free port, with its log."""

    def __init__(self, root: Path, log: Path):
        self.root, self.log, self.seen = root, log, 0
        self.port = 20000 + os.getpid() % 20000

    def __enter__(self):
        command = [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{self.port}"]
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        self.logged("Serving on")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)

    def rebuilt(self) -> None:
        self.logged("Reloading browsers")

    def logged(self, pattern: str) -> None:
        """Wait until the log says `pattern` after what was seen of it so far."""
        for _ in range(1200):
            text = self.log.read_text()
            if match := re.search(pattern, text[self.seen :]):
                self.seen += match.end()
                return
            assert self.process.poll() is None, text
            time.sleep(0.1)
        pytest.fail(f"the log never said {pattern!r}:\n{text}")

    def page(self, language: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{language}main-line/training-loop/") as answer:
            return answer.read().decode()

    def code(self, language: str) -> list[str]:
        return code(self.page(language))


def test_the_settings_that_make_faults_visible_are_on():
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
    plugins = {name: options for plugin in config["plugins"] for name, options in plugin.items()}
    assert config["strict"] is True
    assert config["validation"]["links"] == dict.fromkeys(
        ("not_found", "anchors", "absolute_links", "unrecognized_links"), "warn"
    )
    assert config["validation"]["nav"] == dict.fromkeys(("omitted_files", "not_found", "absolute_links"), "warn")
    assert plugins["i18n"]["fallback_to_default"] is False
    assert plugins["macros"]["on_error_fail"] is True
    assert plugins["macros"]["on_undefined"] == "strict"
    assert plugins["markdown-exec"]["languages"] == ["python"]
    assert not [feature for feature in config["theme"]["features"] if feature.startswith("navigation.instant")]
    assert config["theme"]["font"] is False
