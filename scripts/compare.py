"""Hold the recorded values of two runs against each other, by name, dtype, shape and number.

`python -m scripts.compare LESSON…` (all lessons if none is named) prints every comparison of the lessons and exits
with status 1 if one does not come out as its lesson states.
"""

import fnmatch
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scripts.run import INTEGERS, Value

UNSIGNED = {np.dtype(np.float64): np.int64, np.dtype(np.float32): np.int32, np.dtype(np.float16): np.int16}


@dataclass(frozen=True)
class Line:
    """One compared value: how many numbers, the largest |difference|, the largest distance in ulp (floats only)."""

    name: str
    count: int
    difference: float
    ulp: int | None
    fault: str = ""  # why it can't be compared at all

    def __str__(self) -> str:
        if self.fault:
            return self.fault
        ulp = "" if self.ulp is None else f"  {self.ulp} ulp"
        return f"n={self.count:>4}  max|diff|={self.difference:.2e}{ulp}"


@dataclass(frozen=True)
class Comparison:
    """The lines of a comparison and how they stand to a tolerance, an absolute |difference|."""

    lines: list[Line]
    tolerance: float

    @property
    def worst(self) -> Line:
        return max(self.lines, key=lambda line: (bool(line.fault), line.difference))

    @property
    def agrees(self) -> bool:
        return not any(line.fault or not line.difference <= self.tolerance for line in self.lines)

    def __str__(self) -> str:
        return self.text()

    def text(self, only: tuple[str, ...] = ("*",)) -> str:
        """A line for each value whose name matches a pattern of `only`, and the verdict on all of them."""
        shown = [line for line in self.lines if any(fnmatch.fnmatch(line.name, pattern) for pattern in only)]
        width = max((len(line.name) for line in shown), default=0)
        verdict = "OK" if self.agrees else "MISMATCH"
        worst = self.worst
        value = worst.fault or f"{worst.difference:.2e}"
        end = f"worst={value} ({worst.name})  tolerance={self.tolerance:.0e}  {verdict}"
        more = [f"… and {len(self.lines) - len(shown)} more"] if len(shown) < len(self.lines) else []
        return "\n".join([*(f"{line.name:<{width}}  {line}" for line in shown), *more, end])


def compare(
    left: Mapping[str, Value], right: Mapping[str, Value], tolerance: float, names: tuple[str, ...] = ("*",)
) -> Comparison:
    """Compare what both sides recorded under the names that match a pattern of `names`.

    A name on one side only, another shape (`[]` and `[1]` are both a scalar) or another dtype (integers of any width
    are one dtype: the frameworks' defaults differ) is a fault. Raises ValueError if no name matches.
    """
    found = [name for name in {**left, **right} if any(fnmatch.fnmatch(name, pattern) for pattern in names)]
    found = [name for name in found if "compared" in {side[name].kind for side in (left, right) if name in side}]
    if not found:
        raise ValueError(f"no recorded value matches {', '.join(names)}")
    return Comparison([line(name, left.get(name), right.get(name)) for name in found], tolerance)


def line(name: str, left: Value | None, right: Value | None) -> Line:
    def fault(text: str) -> Line:
        return Line(name, 0, float("inf"), None, text)

    if left is None or right is None:
        return fault(f"recorded by {'the second' if left is None else 'the first'} program only")
    dtypes = ["int" if side.dtype in INTEGERS else side.dtype.partition("(")[0] for side in (left, right)]
    if dtypes[0] != dtypes[1]:
        return fault(f"dtype {left.dtype} against {right.dtype}")
    shapes = [side.numbers.shape or (1,) for side in (left, right)]
    if shapes[0] != shapes[1]:
        return fault(f"shape {list(left.numbers.shape)} against {list(right.numbers.shape)}")
    a, b = left.numbers.reshape(shapes[0]), right.numbers.reshape(shapes[0])
    distance = None if dtypes[0] in ("int", "bool") else int(ulps(a, b).max(initial=0))
    return Line(name, a.size, largest(a, b), distance)


def largest(a: np.ndarray, b: np.ndarray) -> float:
    """The largest |a - b|; NaN against NaN and an infinity against itself count as 0, against anything else as inf."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(x - y))
    return float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats lie between a and b, elementwise: 0 for equal values (-0 equals 0, NaN equals NaN).

    The floats of one type, read as sign-and-magnitude integers, are in order, so the distance is a subtraction
    (Bruce Dawson, "Comparing Floating Point Numbers").
    """

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = np.ascontiguousarray(x).view(UNSIGNED[x.dtype]).astype(object)
        lowest = int(np.iinfo(UNSIGNED[x.dtype]).min)
        return np.where(bits < 0, lowest - bits, bits)

    distance = np.abs(ordered(a) - ordered(b))
    return np.where(np.isnan(a) & np.isnan(b), 0, distance)


def main() -> None:
    from scripts.claims import check, evaluate
    from scripts.lessons import lessons
    from scripts.problems import Stop

    try:
        chosen = [found for found in lessons() if found.name in sys.argv[1:] or not sys.argv[1:]]
        problems = []
        for lesson in chosen:
            evaluated = evaluate(lesson)
            for name, (_, comparison) in evaluated.agreements.items():
                print(f"{lesson.name} {name}\n{comparison}\n")
            problems += check(evaluated)
        if problems:
            raise Stop(*problems)
    except Stop as stop:
        sys.exit(str(stop))


if __name__ == "__main__":
    main()
