"""The search index as the theme's script needs it for a site in two languages.

The search plugin writes one index for all languages, in which a page is often found behind its twin in the other
language, and cuts Chinese into words, of which the script finds only the beginnings.
"""

import json
import re
from pathlib import Path

FOLDERS = {"zh": "", "en": "en/"}
HAN = re.compile(r"[\u4e00-\u9fff]{2,}")
LONGEST = 4


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
    """What begins at each Chinese character of a text, so that a word is found however the text was cut."""
    runs = HAN.findall(text.replace("\u200b", ""))
    return " ".join(sorted({run[i : i + LONGEST] for run in runs for i in range(len(run) - 1)}))
