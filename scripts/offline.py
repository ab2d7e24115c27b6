"""The site as one zip that works from the file system, its search included.

A browser opens no folder's index.html, asks for no index by XMLHttpRequest and starts no worker from a file. So links
name index.html, the search index is a script, as the theme expects it there, and the worker starts from its text.
"""

import io
import json
import re
import zipfile
from pathlib import Path

from scripts.bundle import EPOCH

NAME = "from-pytorch-to-burn"
HREF = re.compile(r'(<(?:a|link)\b[^>]*?\bhref=)("[^"]*"|[^\s">]+)')
FOREIGN = re.compile(r"[a-z][a-z+.-]*:|//|#", re.IGNORECASE)
LEFT_OUT = {".gz", ".xml"}
BUNDLE = re.compile(r'<script src="([^"]*?)assets/javascripts/bundle')
WORKER = """// A worker from a file is refused by browsers; from its text it is not.
(() => {
  const scripts = %(scripts)s
  const source = `self.importScripts = () => ${JSON.stringify(scripts)}.forEach(script => (0, eval)(script));\\n` + %(worker)s
  const Real = Worker
  window.Worker = class extends Real {
    constructor() {
      super(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))
    }
  }
})()
"""


def page(text: str) -> str:
    """A page whose links to folders name their index.html, and which starts its worker from text."""

    def named(match: re.Match) -> str:
        quoted = match[2].strip('"')
        path, mark, anchor = quoted.partition("#")
        if FOREIGN.match(quoted) or not (path.endswith("/") or path in (".", "..")):
            return match[0]
        return f'{match[1]}"{path.rstrip("/")}/index.html{mark}{anchor}"'

    script = r'<script src="\1assets/offline.js"></script>\g<0>'
    return BUNDLE.sub(script, HREF.sub(named, text), count=1)


def index(text: str) -> str:
    """The search index as the script that the theme loads from a file."""
    found = json.loads(text)
    for entry in found["docs"]:
        path, mark, anchor = entry["location"].partition("#")
        entry["location"] = f"{path}index.html{mark}{anchor}"
    return f"var __index = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))}"


def worker(site: Path) -> str:
    """The script that lets the search's worker start from its text, with what it imports."""
    scripts = site / "assets" / "javascripts"
    imported = [(scripts / "lunr" / "min" / f"lunr.{name}.min.js").read_text() for name in ("stemmer.support", "zh")]
    (source,) = (scripts / "workers").glob("search.*.js")
    # A script in a string must not end the string's element, nor refer to a map that is not there.
    text = re.sub(r"//# sourceMappingURL=.*", "", source.read_text())
    return WORKER % {"scripts": json.dumps(imported), "worker": json.dumps(text)}


def write(site: Path) -> None:
    """Write the zip of the whole site into its downloads/."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:

        def add(name: str, data: str | bytes) -> None:
            out.writestr(zipfile.ZipInfo(f"{NAME}/{name}", EPOCH), data, zipfile.ZIP_DEFLATED)

        for path in sorted(site.rglob("*")):
            name = path.relative_to(site).as_posix()
            if path.suffix == ".html":
                add(name, page(path.read_text()))
            elif path.name == "search_index.json":
                add(name.replace(".json", ".js"), index(path.read_text()))
            elif path.is_file() and path.suffix not in LEFT_OUT and path.suffixes[-2:] != [".js", ".map"]:
                add(name, path.read_bytes())
        add("assets/offline.js", worker(site))
    (site / "downloads" / f"{NAME}.zip").write_bytes(archive.getvalue())
