"""Everything that may not break, broken on purpose in a copy: the sources' checks must name it and say what mends it.

A fault is one entry of FAULTS: what is broken, how, and what the error must say. `in_site` faults are seen only when
the site is built, `in_captures` faults only when burn runs again.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

LESSON = "snippets/training-loop"
PYTORCH, BURN, CLAIMS = f"{LESSON}/pytorch.py", f"{LESSON}/burn.rs", f"{LESSON}/claims.py"
ZH, EN = "docs/main-line/training-loop.zh.md", "docs/main-line/training-loop.en.md"
CAPTURED = f"{LESSON}/captured"
Break = Callable[[Path], None]


def edit(path: str, old: str, new: str) -> Break:
    """Replace the first `old` of a file; `old` must be there."""

    def fault(root: Path) -> None:
        text = (root / path).read_text()
        assert old in text, f"{path} has no {old!r} to break"
        (root / path).write_text(text.replace(old, new, 1))

    return fault


def append(path: str, text: str) -> Break:
    return lambda root: (root / path).write_text((root / path).read_text() + text)


def remove(path: str) -> Break:
    return lambda root: (root / path).unlink()


def write(path: str, text: str) -> Break:
    return lambda root: (root / path).write_text(text)


def all_of(*faults: Break) -> Break:
    def fault(root: Path) -> None:
        for each in faults:
            each(root)

    return fault


def both(old: str, new: str) -> Break:
    """The same edit in both languages, where only one would already be caught as a difference."""
    return all_of(edit(ZH, old, new), edit(EN, old, new))


def json_edit(path: str, **values) -> Break:
    def fault(root: Path) -> None:
        (root / path).write_text(json.dumps(json.loads((root / path).read_text()) | values))

    return fault


@dataclass(frozen=True)
class Fault:
    name: str
    fault: Break
    says: str  # a regular expression for the error, which must also say how to mend it
    command: tuple[str, ...] = ("scripts.checks",)


END = "# --8<-- [end:train]"
PRINT = 'print("after eval(), requires_grad:", model.fc1.weight.requires_grad)'

FAULTS = [
    # A program that does not do what it states
    Fault("raises", append(PYTORCH, "raise ValueError('boom')\n"), r"pytorch\.py: it exited with status 1, not 0[^$]*boom"),
    Fault(
        "warns",
        append(PYTORCH, "import warnings\nwarnings.warn('take care')\n"),
        r"pytorch\.py: it exited with status 1, not 0[^$]*take care",
    ),
    Fault("writes to stderr", append(PYTORCH, "sys.stderr.write('psst')\n"), r"pytorch\.py: it wrote to stderr: psst"),
    Fault("exits", append(PYTORCH, "sys.exit(3)\n"), r"pytorch\.py: it exited with status 3, not 0"),
    Fault(
        "succeeds where failure is stated",
        edit(PYTORCH, "    loss.backward()\n    # --8<-- [end:brain", "    # --8<-- [end:brain"),
        r"pytorch\.py \(run brain-teaser\): it exited with status 0, not 1",
    ),
    Fault("prints colours", edit(PYTORCH, PRINT, r'print("\x1b[31mred")'), r"its output has terminal escapes"),
    Fault("prints nothing", both('{{ pair("trained") }}', '{{ output("pytorch", "train") }}'), r"prints no section 'train'"),
    Fault("begins a section twice", append(PYTORCH, "section('start')\n"), r"\[start\]: the section begins twice"),
    Fault("records a name twice", append(PYTORCH, "record('task.lr', 1.0)\n"), r"it records 'task\.lr' twice"),
    Fault("does not pin its threads", edit(PYTORCH, "torch.set_num_threads(1)", ""), r"it does not pin its threads"),
    Fault("is hidden by torch.py", write(f"{LESSON}/torch.py", ""), r"torch\.py: it hides the package"),
    Fault("is hidden by json.py", write(f"{LESSON}/json.py", ""), r"json\.py: it hides the package"),
    # Sections
    Fault("section without an end", edit(PYTORCH, END, ""), r"pytorch\.py:\d+: section 'train' has no end mark"),
    Fault("section twice", append(PYTORCH, "# --8<-- [start:train]\n1\n" + END), r"section 'train' is there twice"),
    Fault("section that never began", edit(BURN, "// --8<-- [start:train]", ""), r"burn\.rs:\d+: section 'train' ends but"),
    Fault("empty section", append(PYTORCH, "# --8<-- [start:x]\n# --8<-- [end:x]\n"), r"section 'x' is empty"),
    Fault("malformed mark", append(PYTORCH, "# --8<-- start:x\n"), r"not a section mark"),
    Fault(
        "section on one side only",
        all_of(edit(PYTORCH, "[start:train]", "[start:training]"), edit(PYTORCH, "[end:train]", "[end:training]")),
        r"pytorch\.py has no section 'train'",
    ),
    Fault(
        "section that no page shows",
        append(PYTORCH, "# --8<-- [start:x]\nx\n# --8<-- [end:x]\n"),
        r"pytorch\.py \[x\]: docs/main-line/training-loop\.en\.md does not show it",
    ),
    Fault("output that no page shows", append(PYTORCH, "section('x')\nprint(1)\n"), r"\(main\) \[x\]: docs/.* does not show"),
    # A lesson with a part missing
    Fault("no burn program", remove(BURN), r"there is no burn\.rs"),
    Fault("no PyTorch program", remove(PYTORCH), r"there is no pytorch\.py"),
    Fault("no claims", remove(CLAIMS), r"there is no claims\.py"),
    Fault("no page at all", all_of(remove(ZH), remove(EN)), r"training-loop"),
    Fault("run without statuses", append(f"{LESSON}/Cargo.toml", "\n[package.metadata.runs.x]\n"), r"run 'x' is not a table"),
    # Captures
    Fault("burn.rs changed by a character", edit(BURN, "0.37", "0.38"), r"training-loop/captured: .*burn\.rs.* changed after"),
    Fault("burn's manifest changed", append(f"{LESSON}/Cargo.toml", "# x\n"), r"captured: .* changed after it was captured"),
    Fault("the crate lesson changed", append("lesson/lib.rs", "// x\n"), r"captured: .* changed after it was captured"),
    Fault(
        "another serde_json",
        edit("Cargo.lock", 'name = "serde_json"\nversion = "1.0.154"', 'name = "serde_json"\nversion = "1.0.155"'),
        r"captured: .* changed after it was captured",
    ),
    Fault(
        "another burn",
        edit("Cargo.lock", 'name = "burn"\nversion = "0.22.1"', 'name = "burn"\nversion = "0.22.2"'),
        r"it was captured with burn 0\.22\.1, Cargo\.lock has 0\.22\.2",
    ),
    Fault("output edited by hand", edit(f"{CAPTURED}/main/start.txt", "0.7", "0.8"), r"a captured file was edited by hand"),
    Fault("value edited by hand", edit(f"{CAPTURED}/main/values.jsonl", "0.9", "0.8"), r"a captured file was edited by hand"),
    Fault("captured file removed", remove(f"{CAPTURED}/main/start.txt"), r"a captured file was edited by hand"),
    Fault("captured file added", write(f"{CAPTURED}/main/x.txt", "x"), r"a captured file was edited by hand"),
    Fault("provenance broken", write(f"{CAPTURED}/provenance.json", "{"), r"provenance\.json was edited by hand"),
    Fault("never captured", remove(f"{CAPTURED}/provenance.json"), r"burn\.rs was never captured.*make capture"),
    # Comparisons and claims
    Fault(
        "beyond the tolerance",
        edit(PYTORCH, "optimizer.step()", "optimizer.step(); model.fc1.bias.data[0] += 1e-5"),
        r"claims\.py \[pytorch_burn\]: docs/\*\*/training-loop\.\*\.md states that pytorch_burn agree within 1e-06, but \S+: n=",
    ),
    Fault("recorded on one side only", append(PYTORCH, "record('extra', 1.0)\n"), r"recorded by the first program only"),
    Fault("another dtype", edit(PYTORCH, 'record("task.lr", LR)', 'record("task.lr", x[0, 0].double())'), r"dtype f64 against f32"),
    Fault("another shape", edit(PYTORCH, 'record("task.lr", LR)', 'record("task.lr", [LR, LR])'), r"shape \[2\] against \[1\]"),
    Fault("not a number", edit(PYTORCH, 'record("task.lr", LR)', 'record("task.lr", math.nan)'), r"but task\.lr: n=.*inf"),
    Fault(
        "a claim that no longer holds",
        edit(CLAIMS, "distances(torch, burn).max()), 16)", "distances(torch, burn).max()) + 17, 16)"),
        r"claims\.py \[a_few_ulp\]: docs/\*\*/training-loop\.\*\.md claims: .*but it is not so that \d+ ≤ 16",
    ),
    Fault("a claim that can't be evaluated", edit(CLAIMS, 'torch["train_loss"]', 'torch["loss"]'), r"recorded no 'loss'"),
    Fault("claims that do not load", append(CLAIMS, "nonsense\n"), r"claims\.py \[module\]: .*NameError"),
    Fault("a comparison that covers too little", edit(CLAIMS, "within=1e-6,", 'within=1e-6, values=("task.*",),'), r"no comparison covers"),
    Fault("a comparison of nothing", edit(CLAIMS, "within=1e-6,", 'within=1e-6, values=("nothing",),'), r"no recorded value matches"),
    Fault("a claim that no page makes", both(' {{ claim("no_drift") }}', ""), r"\[no_drift\]: docs/.* does not show it"),
    Fault("a comparison that no page shows", both('{{ comparison("pytorch_burn") }}', ""), r"pytorch_burn|comparison"),
    Fault("a table that no page shows", both('{{ table("averages") }}', ""), r"\[averages\]: docs/.* does not show it"),
    Fault("an unknown claim", both('claim("no_drift")', 'claim("drift")'), r"no claim is named 'drift'"),
    # Expressions of a page
    Fault("an unknown name", both('{{ num(claims.a_few_ulp.left) }} ulp', "{{ nothing }} ulp"), r"training-loop\.\w\w\.md:\d+: .*'nothing' is undefined"),
    Fault("an unknown value", both('burn["task.parameters"]', 'burn["task.size"]'), r"recorded no 'task\.size'"),
    Fault("a syntax error", both('{{ num(burn["task.parameters"]) }}', '{{ num(burn["task.parameters" }}'), r"training-loop\.\w\w\.md:\d+: "),
    Fault("a rounded integer", both('num(burn["task.lr"], ".1f")', 'num(burn["task.lr"])'), r"is no integer"),
    Fault("a block within a sentence", both('{{ files("pytorch", "checkpoints") }}', 'x {{ files("pytorch", "checkpoints") }}'), r"a block does not stand alone"),
    Fault("files that are not there", both('files("pytorch", "checkpoints")', 'files("pytorch", "nowhere")'), r"left no file in 'nowhere'"),
    Fault("macros switched off", both("description:", "render_macros: false\ndescription:"), r"its front matter says render_macros"),
    Fault("a notebook among the pages", write("docs/main-line/lab.zh.ipynb", "{}"), r"lab\.zh\.ipynb: it is not a page"),
    Fault("a program among the pages", write("docs/main-line/lab.zh.py", "# %%\n1\n"), r"lab\.zh\.py: it is not a page"),
    # Pages (tests/test_pages.py has the whole table)
    Fault("no English page", remove(EN), r"training-loop"),
    Fault("no Chinese page", remove(ZH), r"training-loop"),
    Fault("a figure typed in English", edit(EN, "A two-layer MLP", "A two-layer MLP of 67 parameters"), r"en\.md:\d+: the figure `67` is typed by hand"),
    Fault("a figure typed in Chinese", edit(ZH, "一个两层 MLP", "一个 67 个参数的两层 MLP"), r"zh\.md:\d+: the figure `67` is typed by hand"),
    Fault("a heading in one language", edit(EN, "## The outer loop { #loop }", "The outer loop"), r"languages part here"),
    Fault(
        "an untranslated paragraph",
        both('{{ pair("train") }}', '{{ pair("train") }}\n\nIt is nearly line for line.'),
        r"zh\.md:\d+",
    ),
    Fault("Chinese on the English page", edit(EN, "The weights come from", "权重 come from"), r"en\.md:\d+"),
    Fault("code that was not run", both('{{ pair("train") }}', "```python\nprint(1)\n```"), r"code"),
    Fault("an exec fence by hand", both('{{ pair("train") }}', '```python exec="1"\nprint(1)\n```'), r"code"),
    Fault("a quiz without its answer", both('{{ answer("untracked-backward", "backward-fails") }}', ""), r"untracked-backward"),
    Fault(
        "an option that is not explained",
        all_of(
            edit(ZH, '- {{ option("as-usual") }} 不对', "- 它不对"),
            edit(EN, '- {{ option("as-usual") }} is wrong', "- It is wrong"),
        ),
        r"does not explain the option as-usual",
    ),
    Fault("a lesson that needs one that is not there", both("needs: [", "needs: [nowhere, "), r"it needs 'nowhere', and there is no such page"),
    Fault("an anchor to nowhere", both("](#metrics)", "](#metric)"), r"metric"),
    Fault("a link to nowhere", all_of(*(edit(f"docs/index.{x}.md", "training-loop.md)", "training.md)") for x in ("zh", "en"))), r"training"),
    Fault("a page that nav lacks", edit("mkdocs.yml", "      - main-line/training-loop.md\n", "      - index.md\n"), r"nav"),
    Fault("a stale diagram", both("flowchart TD\n", "flowchart TD\n  more --> epoch\n"), r"the diagram was never drawn.*make diagrams"),
    # What only the built site shows
    Fault(
        "a script from elsewhere",
        append("mkdocs.yml", "\nextra_javascript:\n  - https://cdn.example/x.js\n"),
        r"it loads from elsewhere: https://cdn\.example/x\.js",
        ("mkdocs", "build"),
    ),
    Fault("fonts from elsewhere", edit("mkdocs.yml", "  font: false\n", ""), r"it loads from elsewhere", ("mkdocs", "build")),
    Fault(
        "a style from elsewhere",
        append("docs/assets/site.css", '@import url("https://cdn.example/x.css");\n'),
        r"site\.css: a style loads from elsewhere",
        ("mkdocs", "build"),
    ),
    Fault("a draft", both("description:", "draft: true\ndescription:"), r"it is a draft", ("mkdocs", "build")),
    Fault("a failing snippet, built quietly", append(PYTORCH, "1 / 0\n"), r"ZeroDivisionError", ("mkdocs", "build", "-q")),
    Fault("no English in the build", edit("mkdocs.yml", "          name: English\n          build: true", "          name: English\n          build: false"), r"its twin .* is missing", ("mkdocs", "build")),
    Fault("Chinese search words uncut", edit("mkdocs.yml", r"\u200b", ""), r"search separator", ("mkdocs", "build")),
    Fault("diagrams left to the browser", edit("mkdocs.yml", "format: !!python/name:scripts.diagrams.fence", "format: !!python/name:pymdownx.superfences.fence_code_format"), r"a diagram is left to the browser", ("mkdocs", "build")),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_stops_with_a_named_error(copy, fault):
    fault.fault(copy)
    before = set((copy / LESSON).rglob("*"))
    done = subprocess.run(
        [sys.executable, "-m", *fault.command],
        cwd=copy,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback (most recent call last):\n  File" not in said.replace(f'File "{LESSON}', ""), said
    assert re.search(fault.says, said), said
    assert "To mend: " in said, said
    assert set((copy / LESSON).rglob("*")) == before


def test_the_copy_itself_holds(copy):
    """No fault would mean anything if the copy failed by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.checks"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
