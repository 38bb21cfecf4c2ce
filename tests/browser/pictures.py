"""The pictures of the four pages in the documentation: `python -m tests.browser.pictures`. Look at each before you commit it."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import chromium
from tests.browser.test_live_page import Served
from tests.control.busy import HELD_GROUP, LOST_MACHINE, REFUSED_WRITE, faulty_loop

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
SIZE = (1280, 720)
_TEST_FAILED = 4
_CLUSTER = ("--cluster", "examples/quickstart")
_TRACES = "examples/traces"
PAGES = {
    "plan": ("plan", "--policy", "policies", *_CLUSTER),
    "preview": ("preview", "--base-dir", "policies", "--head-dir", "smaller", *_CLUSTER),
    "replay": (
        "simulate", "--trace", f"{_TRACES}/pool-28.csv", "--policy", f"{_TRACES}/packed", "--against", f"{_TRACES}/spare",
        "--until", "24h",
    ),
}  # fmt: skip
"""Name of the picture -> the command whose page it shows."""


def main() -> None:
    """Write them all."""
    served = Served(faulty_loop(REFUSED_WRITE, LOST_MACHINE, HELD_GROUP))
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        here = Path(directory)
        for name in ("policies", "examples"):
            shutil.copytree(ROOT / name, here / name)
        shutil.copytree(ROOT / "policies", here / "smaller")
        change = here / "smaller" / "on-demand.yaml"
        change.write_text(change.read_text(encoding="utf-8").replace("max: 10}", "max: 6}"), encoding="utf-8")
        browser = chromium(playwright)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        for name, words in PAGES.items():
            done = subprocess.run(
                [sys.executable, "-m", "reconciler", *words, "-o", "html"], cwd=here, capture_output=True, check=False,
                env={"PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            # The change that the preview shows fails one of the policy tests.
            if done.returncode != (_TEST_FAILED if name == "preview" else 0):
                raise RuntimeError(f"{name}: exit code {done.returncode}: {done.stderr.decode()}")
            (here / f"{name}.html").write_bytes(done.stdout)
            page.goto((here / f"{name}.html").as_uri())
            page.screenshot(path=IMAGES / f"{name}-page.png")
        page.goto(served.url)
        page.get_by_text("problems to look at").wait_for()
        page.screenshot(path=IMAGES / "live-page.png")
        browser.close()
    served.server.stop()


if __name__ == "__main__":
    main()
