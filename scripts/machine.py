"""What the runs ran on: processor, system, versions. Asked without importing torch."""

import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

INSTRUCTION_SETS = ("avx512f", "avx2", "avx", "sse4_2")  # the widest that the processor has decides the kernels


@cache
def processor() -> str:
    """The processor's name, its widest vector instructions and the number of its cores, such as `AMD EPYC (x86_64, avx2) × 2`."""
    name, flags = platform.processor() or platform.machine(), set()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = dict(re.findall(r"^(model name|flags|Features)\s*:\s*(.*)$", cpuinfo.read_text(), re.MULTILINE))
        name = fields.get("model name", name)
        flags = set(fields.get("flags", fields.get("Features", "")).split())
    elif platform.system() == "Darwin":
        asked = subprocess.run(
            ["sysctl", "-n", "machdep.cpu.brand_string"], check=False, capture_output=True, text=True
        )
        name = asked.stdout.strip() or name
    widest = next((name for name in INSTRUCTION_SETS if name in flags), "")
    kind = ", ".join(filter(None, [platform.machine(), widest]))
    return f"{name} ({kind}) × {os.cpu_count()}"


def system() -> str:
    return platform.system()


@cache
def rustc() -> str:
    """The version of the Rust compiler on the path; raises FileNotFoundError where there is none."""
    said = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def torch() -> str:
    return version("torch")


def python() -> str:
    return platform.python_version()
