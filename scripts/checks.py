"""Every check of the sources, as a build makes them before it renders a page; `python -m scripts.checks` prints them."""

import sys
from pathlib import Path

import jinja2
import yaml

from scripts import capture, check_pages, diagrams, execute, say
from scripts.claims import check as check_claims
from scripts.lessons import ROOT, SIDES, Lesson, lessons
from scripts.problems import Problem, Stop

DOCS = ROOT / "docs"


def everything() -> None:
    """Raise `Stop` with every problem of the sources. PyTorch programs whose result is not kept are run."""
    say.forget()
    found = lessons()
    stop_on(problem for lesson in found for problem in [*check_sections(lesson), *capture.check_fresh(lesson)])
    stop_on(check_pages.check(ROOT, nav_pages()))
    stop_on(diagrams.check(DOCS, DOCS / "assets" / "diagrams"))
    execute.execute_all()
    stop_on(problem for lesson in found for problem in check_claims(say.evaluated(lesson.name)))
    pages = [rendered(path) for path in sorted(DOCS.rglob("*.md"))]
    stop_on(problem for lesson in found for problem in check_used(lesson, pages))


def stop_on(problems) -> None:
    problems = list(problems)
    if problems:
        raise Stop(*problems)


def nav_pages() -> list[str]:
    """The pages that mkdocs.yml names under `nav`, in order."""

    class Loader(yaml.SafeLoader):
        """Reads mkdocs.yml without importing what its tags name."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    Loader.add_constructor("!ENV", lambda *_: None)

    def flatten(entry) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = entry.values() if isinstance(entry, dict) else entry
        return [page for part in parts for page in flatten(part)]

    return flatten(yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)["nav"])


def check_sections(lesson: Lesson) -> list[Problem]:
    """Whether the marks of both programs are right; their names are held against the pages by `check_used`."""
    problems = []
    for side in SIDES:
        try:
            lesson.sections(side)
        except Stop as stop:
            problems += stop.problems
    return problems


def rendered(path: Path) -> say.Page:
    """Make the calls of a page, as mkdocs-macros will, and return the page with what they used.

    Raises `Stop` naming the page, the line and the call where one can't be made.
    """
    page = say.Page(path.relative_to(DOCS).as_posix())
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
    found = say.evaluated(lesson.name)
    claims = f"snippets/{lesson.name}/claims.py"
    there = {("code", side, name): f"{lesson.where(side)} [{name}]" for side in SIDES for name in lesson.sections(side)}
    for side, values in (("pytorch", found.torch), ("burn", found.burn)):
        for run in lesson.runs.values():
            if side in run.statuses:
                outputs = values.run(run.name).result.output
                there |= {
                    ("output", side, run.name, name): f"{lesson.where(side)} ({run.name}) [{name}]" for name in outputs
                }
    there |= {("claim", name): f"{claims} [{name}]" for name in found.claims}
    there |= {("comparison", name): f"{claims} [{name}]" for name in found.agreements}
    there |= {("table", name): f"{claims} [{name}]" for name in found.tables}
    there |= {("plot", name): f"{claims} [{name}]" for name in found.plots}
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


def main() -> None:
    try:
        everything()
    except Stop as stop:
        sys.exit(str(stop))
    print("the sources hold")


if __name__ == "__main__":
    main()
