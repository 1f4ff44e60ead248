"""Draw the pictures of the pages of `aggro serve`: pip install -e '.[clients]', and Debian's chromium.

A server learns some customers, whose ways then change; so Watch shows an alarm. A person labels sixty records of
another model, so Label shows what that bought.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from serve.records import customers  # noqa: E402
from serve.server import Running, started  # noqa: E402

OTHER = {"leaves": "stays", "stays": "leaves"}
ASSETS = ROOT / "docs" / "assets"


def teach(http: Any) -> None:
    """Customers with their labels; of the last five hundred, one in four does what nobody expected."""
    rng = random.Random(1)
    pairs = [(r, y if rng.random() < 0.97 else OTHER[y]) for r, y in customers(2_000, seed=1)]
    pairs += [(r, y if rng.random() < 0.75 else OTHER[y]) for r, y in customers(500, seed=2)]
    for k in range(0, len(pairs), 20):
        records, labels = zip(*pairs[k : k + 20], strict=True)
        http.post("/v1/models/default/learn", json={"records": records, "labels": labels}).raise_for_status()


def label(http: Any) -> None:
    """A person answers sixty of the questions of a model that knew nothing."""
    http.put("/v1/models/notes", json={"records": {"text": "note"}}).raise_for_status()
    truth = {}
    for k, (record, name) in enumerate(customers(400, seed=3)):
        http.post("/v1/models/notes/ask", json={"record": record, "id": f"e{k}"}).raise_for_status()
        truth[f"e{k}"] = name
    for _ in range(60):
        id = http.post("/v1/models/notes/question", json={"person": "Ada"}).json()["question"]["id"]
        answer = {"id": id, "label": truth[id], "person": "Ada"}
        http.post("/v1/models/notes/answer", json=answer).raise_for_status()


def draw(browser: Browser, server: Running, scheme: Any) -> None:
    """One picture of each page."""
    size: Any = {"width": 700, "height": 860}
    page = browser.new_context(base_url=server.url, color_scheme=scheme, viewport=size).new_page()
    page.goto("/watch")
    page.get_by_text("Live: refreshed").wait_for()
    page.screenshot(path=ASSETS / f"serve-watch-{scheme}.png")
    page.goto("/label?model=notes")
    page.locator("#gain svg").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=ASSETS / f"serve-label-{scheme}.png", full_page=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder))
        try:
            with server.client() as http:
                teach(http)
                label(http)
            with sync_playwright() as playwright:
                flags = ["--no-sandbox", "--disable-gpu"]
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
                for scheme in ("light", "dark"):
                    draw(browser, server, scheme)
                browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
