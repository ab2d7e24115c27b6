"""What a lesson's PyTorch program uses to tell its output apart and to keep its numbers.

`lib.rs` beside this file holds the same four functions for the burn program.

Run by hand, a program prints a heading for each section and keeps nothing. Run with the variable `LESSON_OUT`, as a
build does, it marks the sections for a machine and appends every value to the file of that name, one JSON object a
line: `{"name", "kind", "dtype", "shape", "values"}`.
"""

import json
import math
import os
import time
from collections.abc import Callable

import torch

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


def section(name: str) -> None:
    """From here on, what is printed belongs to the section `name` of the page."""
    print(f"\x1e{name}" if "LESSON_OUT" in os.environ else f"\n== {name} ==", flush=True)


def record(name: str, value) -> None:
    """Keep a value that the burn program records under the same name: the two are compared.

    `value` is a tensor of any shape, a number, or nested lists of numbers (Python floats become float32, as
    `torch.tensor` makes them; give a tensor to keep float64). Floats are kept exactly, whatever their type.
    """
    _keep("compared", name, value)


def note(name: str, value) -> None:
    """Keep a value that only this program has, for the page's sentences and claims."""
    _keep("noted", name, value)


def timing(name: str, repeats: int, work: Callable[[], object]) -> None:
    """Run `work` `repeats` times and keep the shortest duration, in seconds."""

    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    _keep("seconds", name, torch.tensor([min(once() for _ in range(repeats))], dtype=torch.float64))


def _keep(kind: str, name: str, value) -> None:
    path = os.environ.get("LESSON_OUT")
    if path is None:
        return
    tensor = torch.as_tensor(value).detach()
    numbers = tensor.flatten().tolist()
    line = {
        "name": name,
        "kind": kind,
        "dtype": DTYPES[tensor.dtype],
        "shape": list(tensor.shape),
        "values": [str(x) if isinstance(x, float) and not math.isfinite(x) else x for x in numbers],
    }
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")
