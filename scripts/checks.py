"""Every check of the sources, as a build makes them before it renders a page; `python -m scripts.checks` prints them."""

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import jinja2

from scripts import capture, check_pages, claims, diagrams, execute, notebook, say, shelf
from scripts.lessons import NOT_INPUTS, ROOT, SIDES, Lesson, lessons
from scripts.problems import Problem, Stop

DOCS = ROOT / "docs"
PINNED = "torch.set_num_threads(1)"  # torch's numbers change with its threads
FRONT_MATTER = {"title", "description", "lesson", "needs", "draft"}


def everything() -> None:
    """Raise `Stop` with every problem of the sources. PyTorch programs whose result is not kept are run."""
    claims.forget()
    shelf.forget()
    found = lessons()
    stop_on(
        problem
        for lesson in found
        for problem in [*check_sections(lesson), *notebook.check(lesson), *capture.check_fresh(lesson)]
    )
    stop_on(check_strays())
    stop_on(check_pages.check(ROOT, check_pages.nav(ROOT)))
    stop_on(diagrams.check(DOCS, DOCS / "assets" / "diagrams"))
    execute.execute_all()
    stop_on(problem for lesson in found for problem in claims.check(claims.evaluated(lesson.name)))
    pages = [rendered(path) for path in sorted(DOCS.rglob("*.md"))]
    stop_on(problem for lesson in found for problem in check_used(lesson, pages))


def pages(sources: list[str]) -> None:
    """Raise `Stop` with every problem of these pages and of their rules, where nothing else changed since `everything`."""
    stop_on(check_pages.check(ROOT, check_pages.nav(ROOT)))
    stop_on(diagrams.check(DOCS, DOCS / "assets" / "diagrams"))
    for source in sources:
        rendered(DOCS / source)


def stop_on(problems) -> None:
    problems = list(problems)
    if problems:
        raise Stop(*problems)


def check_sections(lesson: Lesson) -> list[Problem]:
    """Whether the programs can be shown: their runs, marks and threads, and no file that hides a package of its name."""
    problems = []
    if PINNED not in lesson.program("pytorch").read_text():
        problems.append(Problem(lesson.where("pytorch"), "it does not pin its threads", f"write {PINNED} in it"))
    for path in lesson.folder.glob("*.py"):
        if path.stem in sys.stdlib_module_names or path.name not in NOT_INPUTS and find_spec(path.stem):
            what = "it hides the package of the same name from the programs beside it"
            problems.append(Problem(f"snippets/{lesson.name}/{path.name}", what, "give it another name"))
    for read in (lambda: lesson.runs, *(partial(lesson.sections, side) for side in SIDES)):
        try:
            read()
        except Stop as stop:
            problems += stop.problems
    return problems


def rendered(path: Path) -> say.Page:
    """Make the calls of a page, as mkdocs-macros will, and return the page with what they used.

    Raises `Stop` naming the page, the line and the call where one can't be made.
    """
    page = say.Page(path.relative_to(DOCS).as_posix())
    unknown = set(page.meta) - FRONT_MATTER
    if unknown:
        what = f"its front matter says {', '.join(sorted(unknown))}, which nothing here reads, or a plugin misreads"
        raise Stop(Problem(f"docs/{page.source}:1", what, f"keep to {', '.join(sorted(FRONT_MATTER))}"))
    env = jinja2.Environment(undefined=jinja2.StrictUndefined, comment_start_string="{##", comment_end_string="##}")
    where = f"docs/{page.source}"
    try:
        page.expand(env.from_string(path.read_text()).render(page.calls()))
    except Stop:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise Stop(Problem(f"{where}:{error.lineno}", error.message, "mend the expression")) from error
    except Exception as error:
        line = next((t.tb_lineno for t in frames(error) if t.tb_frame.f_code.co_filename == "<template>"), 0)
        raise Stop(Problem(f"{where}:{line}", f"{type(error).__name__}: {error}", "mend the expression")) from error
    return page


def frames(error: Exception):
    frame = error.__traceback__
    while frame:
        yield frame
        frame = frame.tb_next


def check_used(lesson: Lesson, pages: list[say.Page]) -> list[Problem]:
    """Whether all that a lesson has is shown by its page: sections, outputs, claims, comparisons, tables, plots."""
    found = claims.evaluated(lesson.name)
    stated = f"snippets/{lesson.name}/claims.py"
    there = {("code", side, name): f"{lesson.where(side)} [{name}]" for side in SIDES for name in lesson.sections(side)}
    for side, values in (("pytorch", found.torch), ("burn", found.burn)):
        for run in lesson.runs.values():
            if side in run.statuses:
                outputs = values.run(run.name).result.output
                there |= {
                    ("output", side, run.name, name): f"{lesson.where(side)} ({run.name}) [{name}]" for name in outputs
                }
    there |= {("claim", name): f"{stated} [{name}]" for name in found.claims}
    there |= {("comparison", name): f"{stated} [{name}]" for name in found.agreements}
    there |= {("table", name): f"{stated} [{name}]" for name in found.tables}
    there |= {("plot", name): f"{stated} [{name}]" for name in found.plots}
    problems = []
    mine = [page for page in pages if Path(page.source).name.startswith(f"{lesson.name}.")]
    if not mine:
        return [Problem(f"snippets/{lesson.name}", "no page shows this lesson", f"make lesson NAME={lesson.name}")]
    for page in mine:
        for key, where in there.items():
            if key not in page.used:
                what = f"docs/{page.source} does not show it ({key[0]})"
                problems.append(Problem(where, what, f"show it with {{{{ {key[0]}(…) }}}}, or remove it"))
    return problems


def check_strays() -> list[Problem]:
    """Programs and notebooks among the pages: mkdocs would publish them as they are, unrendered and unexecuted."""
    return [
        Problem(
            path.relative_to(ROOT).as_posix(), "it is not a page", "move it to snippets/<lesson>/, show it with {{ … }}"
        )
        for path in sorted(DOCS.rglob("*"))
        if path.suffix in (".ipynb", ".py", ".rs")
    ]


def check_drafts() -> list[Problem]:
    """Pages that are begun but not to be published."""
    return [
        Problem(
            f"docs/{path.relative_to(DOCS).as_posix()}", "it is a draft", "finish it, then remove draft: true from it"
        )
        for path in sorted(DOCS.rglob("*.md"))
        if shelf.meta(path.relative_to(DOCS).as_posix()).get("draft")
    ]


def main() -> None:
    try:
        everything()
    except Stop as stop:
        sys.exit(str(stop))
    print("the sources hold")


if __name__ == "__main__":
    main()
