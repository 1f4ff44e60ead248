"""The pages in headless Chromium: a person labels, undoes, comes back; and sees a drift alarm."""

from __future__ import annotations

import random
import re
import shutil
import uuid

import pytest
from serve.records import customers

pytestmark = pytest.mark.xdist_group("serve")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
SLOW = 120_000  # milliseconds


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser, server):
    """A page of a phone's width; whatever it loads from elsewhere, and every error on it, fails the test."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, base_url=server.url, color_scheme="dark")
    found = context.new_page()
    found.set_default_timeout(SLOW)
    wrong: list[str] = []
    found.on("request", lambda request: request.url.startswith(server.url) or wrong.append(request.url))
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    assert not wrong


@pytest.fixture
def model(server):
    name = f"p{uuid.uuid4().hex[:12]}"
    with server.client() as http:
        http.put(f"/v1/models/{name}", json={"records": {"text": "note"}}).raise_for_status()
    return name


def fits(page) -> bool:
    """Whether nothing is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_first_record_is_sent_from_the_start_page(page):
    page.goto("/")
    assert "curl" in page.locator("#learn").text_content()
    page.get_by_role("button", name="Send the first record").click()
    page.get_by_text(re.compile("Learned. The model knows")).wait_for()
    assert fits(page)


def test_a_person_labels_twenty_examples_by_keyboard(page, server, model):
    truth = {}
    with server.client() as http:
        for k, (record, label) in enumerate(customers(60)):
            body = {"record": record, "id": f"e{k}"}
            http.post(f"/v1/models/{model}/predict", json=body).raise_for_status()
            truth[f"e{k}"] = label
        page.goto(f"/label?model={model}")

        def answered(n):
            playwright.expect(page.locator("#progress dd").first).to_have_text(str(n), timeout=SLOW)

        def right():
            return truth[page.locator("#question").get_attribute("data-id")]

        answered(0)
        for n, name in enumerate(("leaves", "stays")):  # classes that nobody has named yet
            while right() != name:
                before = page.locator("#question").get_attribute("data-id")
                page.keyboard.press("s")
                playwright.expect(page.locator("#question")).not_to_have_attribute("data-id", before, timeout=SLOW)
            page.keyboard.press("+")
            page.locator("#new").fill(name)
            page.keyboard.press("Enter")
            answered(n + 1)
        for n in range(2, 20):
            page.keyboard.press("l" if right() == "leaves" else "t")
            answered(n + 1)
        assert fits(page)
        page.keyboard.press("u")
        answered(19)
        assert http.get(f"/v1/models/{model}").json()["rows"] == 19
        page.goto("/watch")
        page.goto(f"/label?model={model}")
        answered(19)
        page.keyboard.press("l" if right() == "leaves" else "t")
        answered(20)
        assert page.locator("mark").count() > 0  # reasons, in the text
        assert http.get(f"/v1/models/{model}").json()["rows"] == 20


def test_a_drift_alarm_appears(page, server, model):
    rng = random.Random(0)

    def send(n, turned):
        rows = [{"x": rng.gauss(0, 1), "y": rng.gauss(0, 1)} for _ in range(n)]
        labels = ["up" if (row["x"] > 0) != turned else "down" for row in rows]
        http.post(f"/v1/models/{model}/learn", json={"records": rows, "labels": labels}).raise_for_status()

    with server.client() as http:
        for _ in range(20):
            send(100, turned=False)
        page.goto("/watch")
        panel = page.locator(f"section[data-model={model}]")
        panel.get_by_text(re.compile("^Well:")).wait_for()
        for _ in range(10):
            send(100, turned=True)
        panel.get_by_text("The error rose at example").wait_for()
        assert panel.locator("svg line.alarm").count() >= 1
        assert fits(page)


def test_every_control_has_a_name(page, server, model):
    for path in ("/", "/watch", f"/label?model={model}"):
        page.goto(path)
        unnamed = page.evaluate(
            """[...document.querySelectorAll("button, input, select, a, svg[role=img]")].filter(one =>
            !(one.textContent.trim() || one.getAttribute("aria-label") || (one.labels && one.labels.length)))
            .map(one => one.outerHTML)"""
        )
        assert unnamed == []
        assert page.locator("h1").count() == 1
        assert page.locator("html").get_attribute("lang") == "en"
