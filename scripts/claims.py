"""What a lesson asserts of its runs: the comparisons, the claims and the tables of its claims.py, evaluated.

A lesson's claims.py holds `Agreement`s as module variables, and functions marked with `@claim`, `@table` and `@plot`.
Each takes the two `Side`s, torch and burn, whose values it reads by name: `burn["train_loss"]`,
`burn.run("cost")["learner"]`.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from scripts import capture, execute, plots
from scripts.compare import Comparison, compare, ulps
from scripts.lessons import Lesson, lesson
from scripts.problems import Problem, Stop
from scripts.run import Result


class Side:
    """The results of one program: the plain run's values by name, and `run(name)` for another run's."""

    def __init__(self, result: Callable[[str], Result], name: str = "main"):
        self._result = result
        self._name = name

    @cached_property
    def result(self) -> Result:
        return self._result(self._name)

    def run(self, name: str) -> "Side":
        return Side(self._result, name)

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers recorded under `name`, in their own dtype and shape; a recorded scalar has shape (1,) or ()."""
        if name not in self.result.values:
            near = ", ".join(self.result.values)
            raise ValueError(f"the run {self._name} recorded no {name!r}; it recorded {near}")
        return self.result.values[name].numbers


def side(lesson: Lesson, name: str) -> Side:
    """`pytorch` (from the store of executed runs) or `burn` (from the captures) of a lesson."""
    source = {"pytorch": execute.result, "burn": capture.captured}[name]

    @cache
    def result(run: str) -> Result:
        if run not in lesson.runs or name not in lesson.runs[run].statuses:
            raise ValueError(f"{lesson.where(name)} declares no run {run!r}")
        return source(lesson, lesson.runs[run])

    return Side(result)


@dataclass(frozen=True)
class Agreement:
    """A comparison of what both programs recorded: `within` is the tolerance, an absolute |difference|.

    `agrees=False` states that the values differ by more, which the page then explains; `agrees=None` states neither:
    the outcome depends on the processor, and the page shows it with what does not.
    """

    within: float
    because: dict[str, str]  # the reason for the tolerance, by language
    values: tuple[str, ...] = ("*",)
    run: str = "main"
    agrees: bool | None = True


@dataclass(frozen=True)
class Verdict:
    """A claim's outcome: `left` and `right` stand in the stated `relation`, or they don't."""

    left: object
    relation: str
    right: object
    holds: bool

    def __str__(self) -> str:
        return f"{show(self.left)} {self.relation} {show(self.right)}"


def show(x: object) -> str:
    return f"{x:.4g}" if isinstance(x, float | np.floating) else str(x)


def equal(left, right) -> Verdict:
    return Verdict(left, "=", right, bool(left == right))


def different(left, right) -> Verdict:
    return Verdict(left, "≠", right, bool(left != right))


def at_most(left, right) -> Verdict:
    return Verdict(left, "≤", right, bool(left <= right))


def less(left, right) -> Verdict:
    return Verdict(left, "<", right, bool(left < right))


def same_bits(left: np.ndarray, right: np.ndarray) -> Verdict:
    """All numbers of two arrays of one dtype and shape have equal bits; the verdict counts those that do."""
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return Verdict(f"{left.dtype}{list(left.shape)}", "=", f"{right.dtype}{list(right.shape)}", False)
    count = sum(a.tobytes() == b.tobytes() for a, b in zip(left.flatten(), right.flatten()))
    return equal(count, left.size)


def claim(en: str, zh: str) -> Callable:
    """Mark a function of a claims.py whose `Verdict` must hold, and say the claim in a sentence of each language.

    `{left}` and `{right}` in a sentence stand for the verdict's two sides.
    """

    def mark(function: Callable[[Side, Side], Verdict]) -> Callable[[Side, Side], Verdict]:
        function.kind, function.sentence = "claim", {"en": en, "zh": zh}
        return function

    return mark


def figure(function: Callable[[Side, Side], object]) -> Callable[[Side, Side], object]:
    """Mark a function of a claims.py that computes a number for the pages' sentences: `{{ num(figures.name) }}`."""
    function.kind = "figure"
    return function


def table(en: str, zh: str) -> Callable:
    """Mark a function of a claims.py that returns a table's rows of text, and give its header in each language.

    A header is written as `step | PyTorch | burn`.
    """

    def mark(function: Callable[[Side, Side], list[list[str]]]) -> Callable[[Side, Side], list[list[str]]]:
        function.kind, function.header = "table", {"en": en.split(" | "), "zh": zh.split(" | ")}
        return function

    return mark


def plot(en: str, zh: str, looks: tuple[str, ...], log: bool = False) -> Callable:
    """Mark a function of a claims.py that returns x and y of each series, and say in each language what a plot shows.

    A plot is written as `title | x axis | y axis | series | series`; the looks are those of `scripts.plots`.
    """

    def mark(function: Callable[[Side, Side], list[tuple]]) -> Callable[[Side, Side], list[tuple]]:
        written = {"en": en, "zh": zh}
        function.kind = "plot"
        function.plots = {lang: plots.plot(function.__name__, text, looks, log) for lang, text in written.items()}
        return function

    return mark


@dataclass(frozen=True)
class Evaluated:
    """A lesson's comparisons (each with what was stated of it), claims, tables and plots, by name, and its two sides."""

    lesson: Lesson
    torch: Side
    burn: Side
    agreements: dict[str, tuple[Agreement, Comparison]]
    figures: dict[str, object]
    claims: dict[str, Verdict]
    sentences: dict[str, dict[str, str]]
    tables: dict[str, tuple[dict[str, list[str]], list[list[str]]]]  # header by language, rows
    plots: dict[str, tuple[dict[str, plots.Plot], list[tuple]]]  # what it says by language, x and y of each series


def evaluate(lesson: Lesson) -> Evaluated:
    """Load the lesson's claims.py and evaluate all of it on the executed and captured runs."""
    where = f"snippets/{lesson.name}/claims.py"
    torch, burn = side(lesson, "pytorch"), side(lesson, "burn")

    def guarded(name: str, work: Callable, *arguments):
        try:
            return work(*arguments)
        except Exception as error:
            what = f"it can't be evaluated: {type(error).__name__}: {error}"
            raise Stop(Problem(f"{where} [{name}]", what, "mend it, or what it reads")) from error

    names = guarded("module", runpy.run_path, str(lesson.folder / "claims.py"))
    marked = {name: f for name, f in names.items() if getattr(f, "kind", "") in ("claim", "figure", "table", "plot")}
    stated = {name: a for name, a in names.items() if isinstance(a, Agreement)}

    def compared(agreement: Agreement) -> Comparison:
        left, right = torch.run(agreement.run).result.values, burn.run(agreement.run).result.values
        return compare(left, right, agreement.within, agreement.values)

    figures = {n: guarded(n, f, torch, burn) for n, f in marked.items() if f.kind == "figure"}
    verdicts = {n: guarded(n, f, torch, burn) for n, f in marked.items() if f.kind == "claim"}
    return Evaluated(
        lesson=lesson,
        torch=torch,
        burn=burn,
        agreements={name: (a, guarded(name, compared, a)) for name, a in stated.items()},
        figures=figures,
        claims=verdicts,
        sentences={name: sentences(marked[name].sentence, verdict) for name, verdict in verdicts.items()},
        tables={n: (f.header, guarded(n, f, torch, burn)) for n, f in marked.items() if f.kind == "table"},
        plots={n: (f.plots, guarded(n, f, torch, burn)) for n, f in marked.items() if f.kind == "plot"},
    )


@cache
def evaluated(name: str) -> Evaluated:
    """The evaluation of the lesson of this name, kept until `forget` is called at the beginning of a build."""
    return evaluate(lesson(name))


def forget() -> None:
    evaluated.cache_clear()


def sentences(templates: dict[str, str], verdict: Verdict) -> dict[str, str]:
    """A claim's sentence in each language, with the two sides of its verdict in place."""
    sides = {"left": show(verdict.left), "right": show(verdict.right)}
    return {language: template.format(**sides) for language, template in templates.items()}


def check(evaluated: Evaluated) -> list[Problem]:
    """What does not hold: comparisons, claims, and recorded values that no comparison covers."""
    lesson = evaluated.lesson
    where = f"snippets/{lesson.name}/claims.py"
    page = f"docs/**/{lesson.name}.*.md"
    mend = "find out what changed; mend the code, or say on the page what is so now"
    problems = []
    covered: dict[str, set[str]] = {}
    for name, (stated, comparison) in evaluated.agreements.items():
        covered.setdefault(stated.run, set()).update(line.name for line in comparison.lines)
        faults = [line for line in comparison.lines if line.fault]
        if faults or stated.agrees not in (None, comparison.agrees):
            should = "differ by more than" if stated.agrees is False else "agree within"
            worst = f"{comparison.worst.name}: {comparison.worst}"
            what = f"{page} states that {name} {should} {stated.within:.0e}, but {worst}"
            problems.append(Problem(f"{where} [{name}]", what, mend))
    for name, verdict in evaluated.claims.items():
        if not verdict.holds:
            what = f"{page} claims: {evaluated.sentences[name]['en']!r}, but it is not so that {verdict}"
            problems.append(Problem(f"{where} [{name}]", what, mend))
    for run in lesson.runs.values():
        sides = [s for s, key in ((evaluated.torch, "pytorch"), (evaluated.burn, "burn")) if key in run.statuses]
        values = {n: v for s in sides for n, v in s.run(run.name).result.values.items()}
        for name, value in values.items():
            if value.kind == "compared" and name not in covered.get(run.name, set()):
                what = f"no comparison covers the value {name!r} of the run {run.name}"
                problems.append(Problem(where, what, "add an Agreement, or note() the value instead of record()"))
    return problems


__all__ = [
    "Agreement",
    "Evaluated",
    "Side",
    "Verdict",
    "at_most",
    "check",
    "claim",
    "different",
    "equal",
    "evaluate",
    "evaluated",
    "figure",
    "forget",
    "less",
    "plot",
    "same_bits",
    "table",
    "ulps",
]
