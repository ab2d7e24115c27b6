"""What a check finds: one problem, where it is, and the command that mends it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One fault that stops a build.

    `where` is a path from the repository's root, with a line, a section or a name where there is one
    (`docs/main-line/training-loop.en.md:12`, `snippets/training-loop/burn.rs [train]`).
    `what` says in one sentence what is wrong, with both values where two things disagree.
    `mend` is the command or the edit that puts it right.
    """

    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. To mend: {self.mend}"


class Stop(Exception):
    """Raised where a problem is found in the middle of some work; carries every problem found."""

    def __init__(self, *problems: Problem):
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
