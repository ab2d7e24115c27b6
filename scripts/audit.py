"""What the built site weighs and how it does in Lighthouse and axe: `python -m scripts.audit` prints a line a page.

Lighthouse runs as it is by default: a phone, with a slow processor and network simulated. Its performance is of the machine
that it runs on, and differs from run to run: as its documentation on variability advises, each page is run several times,
of which the median counts; all are printed. Weight, layout shift and axe are of the site alone, and tests hold them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from scripts import npm, shelf
from scripts.drawing import found
from scripts.host import hosted
from scripts.lessons import ROOT
from scripts.problems import Stop

WANTED = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
RUNS = 3
HEAVIEST = 150_000  # bytes of a page with all that it loads, compressed


def addresses() -> list[str]:
    """The home page, the lessons and the receipts in both languages, below the site's root."""
    wanted = [[*shelf.pages(lang)[:1], *shelf.lesson_pages(lang), f"receipts.{lang}.md"] for lang in ("zh", "en")]
    return [shelf.address(source) for sources in wanted for source in sources]


def lighthouse(url: str, browser: str) -> dict:
    """Lighthouse's report of a page."""
    command = [
        *("node", str(npm.package("lighthouse") / "cli" / "index.js"), url, "--output=json", "--quiet"),
        *("--chrome-flags=--headless=new --no-sandbox", f"--only-categories={','.join(WANTED)}"),
    ]
    done = subprocess.run(
        command, env=os.environ | {"CHROME_PATH": browser}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def score(report: dict, name: str = "performance") -> int:
    """The score that a report gives, of 100."""
    return round(100 * report["categories"][name]["score"])


def axe(browser: Browser, url: str) -> int:
    """How many violations axe finds on a page, in the light and in the dark."""
    from axe_playwright_python.sync_playwright import Axe

    count = 0
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(url, wait_until="networkidle")
        count += Axe().run(page).violations_count
        context.close()
    return count


def audit(site: Path, chosen: list[str]) -> list[str]:
    """Print a line for each page; return those that miss what is wanted."""
    print(f"{'page':<48} {'  '.join(WANTED)}  bytes  shift  axe  runs")
    missed, program = [], found()
    with hosted(site) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for address in chosen:
            reports = sorted((lighthouse(f"{server}/{address}", program) for _ in range(RUNS)), key=score)
            report = reports[RUNS // 2]
            scores = {name: score(report, name) for name in WANTED}
            weight = int(report["audits"]["total-byte-weight"]["numericValue"])
            shift = max(each["audits"]["cumulative-layout-shift"]["numericValue"] for each in reports)
            violations = axe(browser, f"{server}/{address}")
            columns = "  ".join(f"{value:>{len(name)}}" for name, value in scores.items())
            print(
                f"{'/' + address:<48} {columns}  {weight}  {shift:.3f}  {violations:>3}  {list(map(score, reports))}",
                flush=True,
            )
            good = all(scores[name] >= wanted for name, wanted in WANTED.items())
            if not good or weight > HEAVIEST or shift or violations:
                missed.append(f"/{address}")
                failed = [
                    a["id"]
                    for a in report["audits"].values()
                    if a.get("score") == 0 and a["scoreDisplayMode"] == "binary"
                ]
                print(f"    {', '.join(failed)}")
        browser.close()
    return missed


def main() -> None:
    site = ROOT / "site"
    try:
        missed = audit(site, sys.argv[1:] or addresses())
    except Stop as stop:
        sys.exit(str(stop))
    if missed:
        sys.exit(f"below what is wanted ({WANTED}, {HEAVIEST} bytes, no shift, nothing for axe): {', '.join(missed)}")


if __name__ == "__main__":
    main()
