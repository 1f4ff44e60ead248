"""Labels, features, files and servers may be called anything: the screen shows it, and does not obey it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers.commands import COMMANDS
from helpers.runner import good, mistake, run
from test_data import tiny  # noqa: F401 - a fixture

from aggro.cli.console import json_text, shown, visible

# A new title for the window, a colour by a C1 code, text turned around, markup, a return to the line's start.
OBEYED = "\x1b]0;pwned\x07\x9b31m\u202e\x7f\r"
MARKUP = "price[usd]"
NAME = f"{OBEYED}{MARKUP}[bold]:smile:"  # as a file can be called
LABEL = f"{NAME}[/x]\nnext"
SEEN = r"\x1b]0;pwned\x07\x9b31m\u202e\x7f\rprice[usd][bold]:smile:"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
OF_RICH = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r\n|\r")  # colours and movements of the cursor
ON_TERMINAL = Path(__file__).parents[1] / "helpers" / "on_terminal.py"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp(f"hostile{MARKUP}")


@pytest.fixture(scope="module")
def data(home):
    """Features, columns and labels that are called terribly."""
    rows = [
        {
            NAME: i % 3,
            f"colour{LABEL}": LABEL if i % 2 else "plain",
            "words": f"{LABEL} " * 3,
            "label": f"{i % 3}{LABEL}",
        }
        for i in range(40)
    ]
    path = home / f"rows{NAME}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def model(home, data):
    path = home / f"m{NAME}.aggro"
    good("train", data, "--model", path)
    return path


@pytest.fixture(scope="module")
def of_numbers(home):
    """A model of numbers alone, which can be exported."""
    path, made = home / f"numbers{NAME}.jsonl", home / f"of numbers{NAME}.aggro"
    rows = [{NAME: i % 3, "other": i / 7, "label": f"{i % 3}{LABEL}"} for i in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    good("train", path, "--model", made)
    return made


@pytest.fixture(scope="module")
def regular(home, data, model, of_numbers):
    """For each command, arguments with which it succeeds."""
    return {
        ("demo",): None,  # there is nothing in it from outside but the page's name, which the others have too
        ("train",): ["train", data, "--model", home / f"n{NAME}.aggro", "--test", data],
        ("label",): ["label", data, "--model", home / f"l{NAME}.aggro", "--seed-labels", data, "--text", "words"],
        ("predict",): ["predict", model, data],
        ("test",): ["test", model, data, "--plot", home / f"t{NAME}.html"],
        ("learners",): None,  # it shows nothing from outside
        ("compare",): ["compare", data, "--learners", "pa,pa2", "--plot", home / f"c{NAME}.html"],
        ("sweep",): ["sweep", data, "--learners", "pa,pa2", "--plot", home / f"s{NAME}.html", "--test", data],
        ("show",): ["show", model],
        ("export",): ["export", of_numbers, home / f"e{NAME}.onnx"],
        ("warm",): None,  # it reads and writes no file of a user's
        ("follow",): None,  # it needs a broker: see tests/interop
        ("serve",): None,  # it goes on until it is stopped: see tests/serve
        **{("token", word): None for word in ("add", "list", "revoke")},  # names are letters and digits
        ("data", "describe"): ["data", "describe", data],
        ("data", "list"): ["data", "list", "--data", home],
        ("data", "path"): ["data", "path", "--data", home],
        ("data", "fetch"): ["data", "fetch", "tiny", "--data", home],
    }


def mistakes(home, data, model):
    """Arguments with which commands fail, and what they name."""
    bad = home / f"bad{NAME}.svm"
    bad.write_text(f"1 1:{NAME}\n")
    damaged = home / f"damaged{NAME}.aggro"
    damaged.write_bytes(model.read_bytes()[:-1])
    plugin = home / "hostile_plugin.py"
    plugin.write_text(f"raise ValueError({LABEL!r})\n")
    new = ["--model", home / "new.aggro"]
    return [
        [NAME],
        ["train", bad, *new],
        ["train", home / f"nowhere{NAME}", *new],
        ["train", data, *new, "--learner", NAME],
        ["train", data, *new, "--set", f"C={NAME}"],
        ["train", data, *new, "--label", NAME + "x"],
        ["train", data, *new, "--learner", "PARegressor"],
        ["train", data, *new, f"--{NAME}"],
        ["train", data, *new, "--plugin", plugin],
        ["train", data, "--model", data],
        ["predict", damaged, data],
        ["show", damaged],
        ["show", home / f"nowhere{NAME}"],
        ["compare", data, "--plot", home / f"{NAME}.gif"],
        ["compare", data, "--learners", f"pa,{NAME}"],
        ["label", data, *new, "--strategy", NAME],
        ["data", "path", NAME],
        ["data", "fetch", NAME],
    ]


def safe(text):
    assert CONTROLS.search(text) is None, ascii(text)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")


def test_every_command_is_tried(regular):
    assert set(regular) == set(COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        words
        for words in COMMANDS
        if words not in (("demo",), ("warm",), ("learners",), ("data", "fetch"))
        and words[0] not in ("follow", "serve", "token")
    ],
    ids=str,
)
@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_is_obeyed_and_nothing_is_lost(words, as_json, regular, monkeypatch, wide):
    if as_json and words == ("data", "path"):
        pytest.skip("it has no --json")
    monkeypatch.setattr(sys, "stdin", io.StringIO("skip\nundo\nquit\n"))
    ran = good(*regular[words], *(["--json"] if as_json else []))
    safe(ran.err)
    if words == ("predict",) and not as_json:
        return  # a program gets labels as they are: see below
    safe(ran.out)
    if as_json:
        texts = ran.out.splitlines() if words in (("label",), ("predict",)) else [ran.out]
        assert words[0] == "data" or json.dumps(NAME)[1:-1] in "".join(json.dumps(json.loads(text)) for text in texts)
    else:
        assert (SEEN if words[0] != "data" else MARKUP) in ran.out


def test_what_features_and_classes_are_called_is_shown_whole(model, wide):
    out = good("show", model, "--weights", 100).out
    of_cell = SEEN.removeprefix(r"\x1b")  # no blank, nor anything below, stands around the text of a cell
    assert f"colour{SEEN}[/x]\\nnext={of_cell}[/x]\\nnext" in out
    assert f"0{SEEN}[/x]\\nnext, 1{SEEN}[/x]\\nnext" in out


def test_a_program_gets_a_line_for_each_row_and_labels_as_they_are(model, data, tmp_path):
    good("predict", model, data, "--output", tmp_path / "p.txt")
    written = (tmp_path / "p.txt").read_bytes().decode()
    assert good("predict", model, data).out == written
    labels = written.split("\n")[:-1]
    assert len(labels) == 40
    assert {label[1:] for label in labels} == {LABEL.replace("\n", "\\n").replace("\r", "\\r")}
    lines = good("predict", model, data, "--json").out.splitlines()
    assert {json.loads(line)["label"][1:] for line in lines} == {LABEL}


def test_mistakes_are_one_line_that_is_not_obeyed(home, data, model, wide):
    for arguments in mistakes(home, data, model):
        said = mistake(*arguments)
        safe(said)
        safe(run(*arguments).err)
    assert not (home / "new.aggro").exists()


def test_what_a_server_says(tiny, tmp_path):  # noqa: F811
    class Rude(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response_only(404, "gone \x1b]0;pwned\x07\x9b31m")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Rude) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/%s"
        said = mistake("data", "fetch", "tiny", "--data", tmp_path, "--url", url)
        server.shutdown()
    safe(said)
    assert r"404 gone \x1b]0;pwned\x07\x9b31m" in said


def test_on_a_terminal(regular, home, data, model):
    """There are colours then, by rich; what it writes itself is known."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here", exc_type=ImportError)
    lines = [arguments for words, arguments in regular.items() if arguments and words != ("data", "fetch")]
    failing = mistakes(home, data, model)[::5]
    plan = json.dumps([[str(argument) for argument in line] for line in (*lines, *failing)])
    done = subprocess.run([sys.executable, str(ON_TERMINAL), plan], capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    assert [status for status, _ in results] == [0] * len(lines) + [2] * len(failing)
    for line, (_, screen) in zip((*lines, *failing), results, strict=True):
        safe(OF_RICH.sub("\n", screen))
        assert "\x1b]" not in screen, line
        assert "pwned" in screen or MARKUP in screen or line[0] == "data", line


def test_names_that_are_not_utf8(svm, model, tmp_path):
    path = tmp_path / "rows\udcff.svm"
    path.write_bytes(svm.read_bytes())
    assert "\\udcff" in good("train", path, "--model", tmp_path / "m\udcff.aggro").out
    assert "\\udcff" in good("show", tmp_path / "m\udcff.aggro").out
    ran = good("train", path, "--model", tmp_path / "n.aggro", "--test", path, "--json")
    ran.out.encode()
    assert ran.json["test"]["data"] == [str(path)]


def test_a_stream_that_has_few_letters(tmp_path):
    line = [sys.executable, "-m", "aggro.cli", "show", str(tmp_path / "ü…")]
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.decode("ascii").startswith("aggro: ")
    assert r"\xfc\u2026" in done.stderr.decode("ascii")


def test_what_is_visible_stays():
    for text in ("plain", "tabs\tand\nlines", "Ünïcödé 雪 👩‍🚀", "می‌خواهم", "back\\slash"):
        assert visible(text) == text
    assert shown("a\tb\nc") == "a\\tb\\nc"
    nasty = "".join(map(chr, [*range(256), 0x202E, 0x2066, 0x2028, 0xD800]))
    assert json.loads(json_text({nasty: nasty})) == {nasty: nasty}
    safe(visible(nasty).replace("\n", ""))
