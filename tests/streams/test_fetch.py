"""Downloads, from a local server that misbehaves in all the ways that servers do."""

from __future__ import annotations

import gzip
import hashlib
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aggro.streams.io import fetch as fetching
from aggro.streams.io.fetch import FetchError, digest_of, fetch

BODY = bytes(range(256)) * 4000

BODY_AT_MOVED = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


class Server(ThreadingHTTPServer):
    """Serves ``body``; ``cuts`` are where the next answers break off, ``ranges`` whether it serves parts."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.tag, self.ranges, self.length = BODY, '"one"', True, True
        self.cuts, self.asked = [], []
        self.answer = None  # a status line and headers to send instead of everything else

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        if server.answer is not None and self.path == "/file":
            self.wfile.write(server.answer)
            self.close_connection = True
            return
        if self.path == "/moved":
            self.wfile.write(BODY_AT_MOVED)
            self.close_connection = True
            return
        if self.path != "/file":
            self.send_error(404)
            return
        start = 0
        if wanted and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(server.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        else:
            self.send_response(200)
        rest = server.body[start:]
        if server.length:
            self.send_header("Content-Length", str(len(rest)))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        self.wfile.write(rest[: server.cuts.pop(0)] if server.cuts else rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


def only(path):
    """The file is there, whole, and nothing else is in its folder."""
    assert path.read_bytes() == BODY
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_and_its_progress(server, tmp_path):
    seen = []
    fetch(server.url, tmp_path / "f", report=lambda done, total: seen.append((done, total)))
    only(tmp_path / "f")
    assert seen[0] == (0, len(BODY))
    assert seen[-1] == (len(BODY), len(BODY))
    assert seen == sorted(seen)


def test_a_cut_off_answer_is_gone_on_with(server, tmp_path):
    server.cuts = [1000, 500_000, 7]
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    assert server.asked == [None, "bytes=1000-", "bytes=501000-", "bytes=501007-"]


def test_an_interrupted_download_is_resumed_by_the_next_call(server, tmp_path):
    def stop(done, total):
        if done > 300_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.url, tmp_path / "f", report=stop)
    kept = (tmp_path / "f.part").stat().st_size
    assert 0 < kept < len(BODY)
    assert not (tmp_path / "f").exists()
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    assert server.asked == [None, f"bytes={kept}-"]


def test_a_server_that_ends_early_each_time_is_given_up_and_what_came_is_kept(server, tmp_path):
    server.cuts = [1000, 0, 0, 0]
    with pytest.raises(FetchError, match="1,000 bytes are kept"):
        fetch(server.url, tmp_path / "f")
    assert (tmp_path / "f.part").read_bytes() == BODY[:1000]
    assert not (tmp_path / "f").exists()
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")


def test_a_server_without_ranges_starts_anew(server, tmp_path):
    server.ranges = False
    server.cuts = [1000, 2000]
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    assert len(server.asked) == 3


def test_another_version_on_the_server_is_not_mixed_in(server, tmp_path):
    (tmp_path / "f.part").write_bytes(b"x" * 5000)
    (tmp_path / "f.part.tag").write_text('"zero"')
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    assert server.asked == ["bytes=5000-"]


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_version_to_compare_nothing_is_gone_on_with(server, tmp_path, tag):
    server.tag = tag
    server.cuts = [1000]
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    assert server.asked == [None, None]


def test_a_part_that_is_whole_or_too_long(server, tmp_path):
    (tmp_path / "f.part").write_bytes(BODY)
    (tmp_path / "f.part.tag").write_text(server.tag)
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    (tmp_path / "f.part").write_bytes(BODY + b"more")
    (tmp_path / "f.part.tag").write_text(server.tag)
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")


def test_no_length_is_no_error(server, tmp_path):
    server.length = False
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")


def test_a_wrong_file_is_thrown_away_and_the_old_one_stays(server, tmp_path):
    (tmp_path / "f").write_bytes(BODY)
    server.body = b"something else"
    right = hashlib.sha256(BODY).hexdigest()
    with pytest.raises(FetchError, match="the checksum is wrong"):
        fetch(
            server.url,
            tmp_path / "f",
            check=lambda file: None if digest_of(file).sha256 == right else "the checksum is wrong",
        )
    only(tmp_path / "f")


def test_not_found_and_nobody_there(server, tmp_path):
    with pytest.raises(FetchError, match="404 Not Found"):
        fetch(server.url + "/nothing", tmp_path / "f")
    with pytest.raises(FetchError, match="neither http nor https"):
        fetch("file:///etc/passwd", tmp_path / "f")
    server.server_close()
    server.shutdown()
    with pytest.raises(FetchError, match="refused"):
        fetch(server.url, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_redirects_lead_to_the_web_alone(server, tmp_path):
    base = server.url.removesuffix("/file")
    server.answer = b"HTTP/1.0 302 Found\r\nLocation: /moved\r\n\r\n"
    fetch(server.url, tmp_path / "f")
    only(tmp_path / "f")
    for where in ("ftp://127.0.0.1/f", "file:///etc/passwd", "data:,x", "FTP://h/f"):
        server.answer = f"HTTP/1.0 302 Found\r\nLocation: {where}\r\n\r\n".encode()
        with pytest.raises(FetchError):
            fetch(server.url, tmp_path / "g")
        assert not (tmp_path / "g").exists()
    asked = urllib.request.Request("https://example.org/f")
    with pytest.raises(FetchError, match="which is not https"):
        fetching.SafeRedirects().redirect_request(asked, None, 302, "", {}, f"{base}/moved")
    for where in (b"http://[::1", b"http://h:x/", b"http://\xff\xfe/"):
        server.answer = b"HTTP/1.0 302 Found\r\nLocation: " + where + b"\r\n\r\n"
        with pytest.raises(FetchError) as caught:
            fetch(server.url, tmp_path / "g")
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("length", [b"many", b"-5", b"5, 5", b"\xb2", b"9" * 30, b"1e3", b"\x1b[31m"])
def test_a_length_that_is_no_number(server, tmp_path, length):
    server.answer = b"HTTP/1.0 200 OK\r\nContent-Length: " + length + b"\r\n\r\nabc"
    with pytest.raises(FetchError, match="length is") as caught:
        fetch(server.url, tmp_path / "f")
    assert str(caught.value).isprintable()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [b"HTTP/1.0 404 \x1b]0;owned\x07gone", b"\x1b[2J", b"HTTP/1.0 999999 x", b""])
def test_what_a_server_says_is_made_printable(server, tmp_path, line):
    server.answer = line + b"\r\n\r\n"
    with pytest.raises(FetchError) as caught:
        fetch(server.url, tmp_path / "f")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("planted", ["f.part", "f.part.tag"])
@pytest.mark.parametrize("how", ["symlink", "hard link", "dangling"])
def test_planted_links_are_not_written_through(server, tmp_path, planted, how):
    (tmp_path / "in").mkdir()
    victim = tmp_path / "victim"
    if how != "dangling":
        victim.write_bytes(b"precious")
    if how == "hard link":
        (tmp_path / "in" / planted).hardlink_to(victim)
    else:
        (tmp_path / "in" / planted).symlink_to(victim)
    server.cuts = [1000]
    fetch(server.url, tmp_path / "in" / "f")
    only(tmp_path / "in" / "f")
    assert (victim.read_bytes() == b"precious") if how != "dangling" else not victim.exists()


def test_where_it_cannot_write(server, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        fetch(server.url, tmp_path / "no" / "f")


def test_a_silent_server_is_given_up(server, tmp_path, monkeypatch):
    import socket

    monkeypatch.setattr(fetching, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(FetchError, match="timed out"):
        fetch(f"http://127.0.0.1:{silent.getsockname()[1]}/f", tmp_path / "f")


def test_a_digest_is_of_the_text(tmp_path):
    text = b"a\nb\nc"
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    expected = (hashlib.sha256(text).hexdigest(), 3)
    assert digest_of(tmp_path / "plain") == digest_of(tmp_path / "packed") == expected
