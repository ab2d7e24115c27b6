"""The search index as the theme's script needs it for a site in two languages.

The search plugin writes one index for all languages, in which a page is often found behind its twin in the other
language, and cuts Chinese into words, of which the script finds only the beginnings.
"""

import json
import re
from pathlib import Path

from scripts.problems import Problem, Stop

FOLDERS = {"zh": "", "en": "en/"}
HAN = re.compile(r"[\u4e00-\u9fff]{2,}")
NAME = re.compile(r"[A-Za-z]\w*_\w+")
SEGMENTS = re.compile(r'=>\[\.\.\.\w+\((\w+),this\.index\.invertedIndex\)\]\.join\("\* "\)')
LONGEST = 4
# Pieces of LONGEST characters, the last of them at the query's end; a shorter query is a piece.
PIECES = rf'=>\1.length<={LONGEST}?\1:[...\1.match(/.{{{LONGEST}}}/g),\1.slice(-{LONGEST})].join("* ")'


def mend(site: Path) -> None:
    """Let the theme's worker cut the Chinese of a query into the pieces that `inside` puts into the index.

    It looks for the index's words in the query, which leaves words out and finds others that nobody asked for.
    Raises `Stop` where the worker is another than this knows.
    """
    for worker in (site / "assets" / "javascripts" / "workers").glob("search.*.min.js"):
        text, count = SEGMENTS.subn(PIECES, worker.read_text())
        if count != 1:
            what = f"it cuts queries in {count} places, not in one"
            raise Stop(
                Problem(f"site/{worker.relative_to(site).as_posix()}", what, "see what it does, mend scripts/search.py")
            )
        worker.write_text(text)


def split(site: Path) -> None:
    """Replace the index by one for each language, in the folder of its pages, where overrides/main.html sends it."""
    index = json.loads((site / "search" / "search_index.json").read_text())
    fields = index["config"]["fields"]
    fields |= {f"inside_{name}": fields[name] for name in ("title", "text")}
    shares = {language: [] for language in FOLDERS}
    for entry in index["docs"]:
        language = "en" if entry["location"].startswith(FOLDERS["en"]) else "zh"
        entry["location"] = entry["location"].removeprefix(FOLDERS[language])
        entry |= {f"inside_{name}": inside(entry[name]) for name in ("title", "text")}
        shares[language].append(entry)
    for language, folder in FOLDERS.items():
        path = site / folder / "search" / "search_index.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        own = {"config": index["config"] | {"lang": [language]}, "docs": shares[language]}
        path.write_text(json.dumps(own, ensure_ascii=False, separators=(",", ":")))


def inside(text: str) -> str:
    """What begins at each Chinese character of a text, so that a word is found however the text was cut.

    And the parts of names such as `into_data`, which are words of the index as they stand.
    """
    text = text.replace("\u200b", "")
    found = {run[i : i + LONGEST] for run in HAN.findall(text) for i in range(len(run) - 1)}
    return " ".join(sorted(found | {part for name in NAME.findall(text) for part in name.split("_")[1:] if part}))
