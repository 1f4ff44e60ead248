"""The pages in headless Chromium: a person labels, undoes, comes back; and sees a drift alarm."""

from __future__ import annotations

import os
import random
import re
import shutil
import uuid
from pathlib import Path

import pytest
from serve.records import customers
from serve.server import started

from aggro.serve import Limits, Models
from aggro.serve.tokens import Tokens

pytestmark = pytest.mark.xdist_group("serve")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
SLOW = 60_000  # milliseconds


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def person(browser, server):
    """Call it for the browser of a new person, with a phone's width.

    Whatever a page loads from elsewhere, and every error on it, fails the test.
    """
    wrong: list[str] = []
    contexts = []

    def come(scheme="dark"):
        context = browser.new_context(viewport={"width": 390, "height": 800}, base_url=server.url, color_scheme=scheme)
        context.set_default_timeout(SLOW)
        context.on("request", lambda request: request.url.startswith(server.url) or wrong.append(request.url))
        context.on("weberror", lambda found: wrong.append(str(found.error)))
        context.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        contexts.append(context)
        return context

    yield come
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def page(person):
    """A page in the browser of one person."""
    return person().new_page()


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
    page.get_by_role("button", name="Send that record").click()
    page.get_by_text("Learned.").wait_for()
    page.get_by_role("heading", name=re.compile("The model default has learned [0-9,]+ example")).wait_for()
    assert fits(page)


class Labelling:
    """A person on the labelling page, who knows the labels and uses the keyboard alone."""

    def __init__(self, page, model, truth):
        self.page, self.truth = page, truth
        self.answered = []
        page.goto(f"/label?model={model}")

    def labels(self, n):
        """Wait until the page says so many labels."""
        playwright.expect(self.page.locator("#progress dd").first).to_have_text(str(n), timeout=SLOW)

    @property
    def shown(self):
        """The id of the example that is shown."""
        playwright.expect(self.page.locator("#question")).to_have_attribute("data-id", re.compile("."), timeout=SLOW)
        return self.page.locator("#question").get_attribute("data-id")

    def press(self, key):
        """Press a key, and wait for the next example; the id of the one that was shown."""
        before = self.shown
        self.page.keyboard.press(key)
        playwright.expect(self.page.locator("#question")).not_to_have_attribute("data-id", before, timeout=SLOW)
        return before

    def name_classes(self):
        """Answer the first example of each class with its name, which nobody has given yet."""
        for name in ("leaves", "stays"):
            while self.truth[self.shown] != name:
                self.press("s")
            self.page.keyboard.press("+")
            self.page.locator("#new").fill(name)
            self.press("Enter")

    def answer(self):
        """Answer with the key of the class; the example's id."""
        self.answered.append(self.press("l" if self.truth[self.shown] == "leaves" else "t"))
        return self.answered[-1]


def ask(http, model, n):
    """Examples that wait for their labels, by id."""
    truth = {}
    for k, (record, label) in enumerate(customers(n)):
        http.post(f"/v1/models/{model}/predict", json={"record": record, "id": f"e{k}"}).raise_for_status()
        truth[f"e{k}"] = label
    return truth


def test_a_person_labels_twenty_examples_by_keyboard(person, server, model):
    context = person()
    with server.client() as http:
        truth = ask(http, model, 60)
        ada = Labelling(context.new_page(), model, truth)
        ada.labels(0)
        ada.page.locator("#person").fill("Ada")
        ada.page.keyboard.press("Tab")
        ada.page.locator("#question").focus()
        ada.name_classes()
        for n in range(2, 20):
            ada.answer()
            ada.labels(n + 1)
        assert fits(ada.page)
        last = ada.answered[-1]
        ada.press("u")
        assert ada.shown == last  # it is asked about again
        ada.labels(19)
        assert http.get(f"/v1/models/{model}").json()["rows"] == 19
        ada.page.close()
        ada = Labelling(context.new_page(), model, truth)  # she comes back
        ada.labels(19)
        assert ada.page.locator("#person").input_value() == "Ada"
        assert ada.shown == last  # which she had in hand
        ada.answer()
        ada.labels(20)
        assert ada.page.locator("mark").count() > 0  # reasons, in the text
        ada.press("u")  # and may still take back what she said before
        ada.press("u")
        ada.labels(18)
        assert http.get(f"/v1/models/{model}").json()["rows"] == 18


def test_reasons_are_marked_in_every_kind_of_record(page, server):
    kinds = {
        "text": (["great film", "dull film"], "a great evening", "great"),
        "list": ([[1.0, 5.0], [1.0, -5.0]], [1.0, 4.0], "4"),
        "object": ([{"a": {"b": "x"}}, {"a": {"b": "y"}}], {"a": {"b": "x"}}, "x"),
    }
    for name, (known, asked, marked) in kinds.items():
        model = f"{name}{uuid.uuid4().hex[:12]}"
        with server.client() as http:
            http.put(f"/v1/models/{model}", json={}).raise_for_status()
            for _ in range(5):
                body = {"records": known, "labels": ["good", "bad"]}
                http.post(f"/v1/models/{model}/learn", json=body).raise_for_status()
            http.post(f"/v1/models/{model}/predict", json={"record": asked, "id": "q"}).raise_for_status()
        page.goto(f"/label?model={model}")
        page.locator("mark", has_text=re.compile(f"^{marked}$")).wait_for()
        page.keyboard.press("s")
        page.get_by_text("You have skipped the examples that wait").wait_for()
        assert fits(page)


def test_two_people_never_get_the_same_example(person, server, model):
    with server.client() as http:
        truth = ask(http, model, 40)
    people = [Labelling(person().new_page(), model, truth) for _ in range(2)]
    for one in people:
        one.shown  # noqa: B018  both have one in hand
    assert people[0].shown != people[1].shown
    people[0].name_classes()
    people[1].page.reload()  # to know the classes
    answered = [{one.answer() for _ in range(8)} for one in people]
    assert not answered[0] & answered[1]
    assert people[0].shown != people[1].shown


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
        panel.get_by_text(re.compile("^Doing well:")).wait_for()
        for _ in range(10):
            send(100, turned=True)
        panel.get_by_text("The error rose at example").wait_for()
        assert panel.locator("svg line.alarm").count() >= 1
        assert fits(page)


def test_a_model_that_is_no_use_is_not_called_well(page, server):
    rng = random.Random(0)
    rows = [{"x": rng.gauss(0, 1)} for _ in range(400)]
    labels = {"coin": [rng.choice("ht") for _ in rows], "noise": [rng.gauss(0, 1) for _ in rows]}
    labels["price"] = [3 * row["x"] for row in rows]
    with server.client() as http:
        for name, learner in {"coin": "PAClassifier", "noise": "PARegressor", "price": "PARegressor"}.items():
            http.put(f"/v1/models/{name}", json={"learner": learner}).raise_for_status()
            for k in range(0, 400, 20):
                body = {"records": rows[k : k + 20], "labels": labels[name][k : k + 20]}
                http.post(f"/v1/models/{name}/learn", json=body).raise_for_status()
    page.goto("/watch")
    said = {"coin": "Hardly better than no model", "noise": "Hardly better than no model", "price": "Doing well"}
    for name, words in said.items():
        panel = page.locator(f"section[data-model={name}]")
        playwright.expect(panel.locator(".verdict")).to_contain_text(words, timeout=SLOW)
        assert panel.locator("svg").count() == 2  # error and loss
    playwright.expect(panel.get_by_role("row", name="higher x raises the number")).to_be_visible()
    assert fits(page)
    with server.client() as http:
        for name in said:
            http.delete(f"/v1/models/{name}").raise_for_status()


def test_a_page_asks_for_the_token(browser, tmp_path):
    with Models(tmp_path, Limits()) as models:
        token = Tokens(models.store).add("ada", "admin")
    server = started(tmp_path, "--tokens", ready=False)
    try:
        context = browser.new_context(base_url=server.url)
        context.set_default_timeout(SLOW)
        page = context.new_page()
        page.goto("/")
        page.get_by_role("textbox", name="Token").wait_for()
        assert "Authorization: Bearer" in page.locator("#learn").text_content()
        assert page.locator("a[data-api]").count() == 0  # a link sends no token
        page.goto("/watch")
        page.get_by_role("textbox", name="Token").fill(token)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="default").wait_for()
        assert not page.locator("#token").is_visible()
        context.close()
    finally:
        server.stop()


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(person, server, model, scheme):
    source = os.environ.get("AXE_CORE", "")
    if not os.path.isfile(source):
        pytest.skip("AXE_CORE does not name axe.min.js; npm install axe-core has it")
    with server.client() as http:
        truth = ask(http, model, 30)
        pairs = customers(300, seed=5)
        body = {"records": [r for r, _ in pairs], "labels": [y for _, y in pairs]}
        for _ in range(2):
            http.post(f"/v1/models/{model}/learn", json=body).raise_for_status()
    page = person(scheme).new_page()
    ada = Labelling(page, model, truth)
    ada.answer()
    for path in (f"/label?model={model}", "/watch", "/"):
        page.goto(path)
        page.wait_for_load_state("networkidle" if path != "/watch" else "load")
        if path == "/watch":
            page.locator(f"section[data-model={model}] svg").first.wait_for()
        page.evaluate(Path(source).read_text(encoding="utf-8"))
        found = page.evaluate("axe.run().then((result) => result.violations)")
        told = [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found]
        assert not [one for one in told if one[1] in ("serious", "critical")], told
