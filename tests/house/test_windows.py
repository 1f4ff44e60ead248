"""What the module os has on Linux and not on Windows: who uses it, and what is done instead."""

from __future__ import annotations

import ast

import pytest
from house.source import modules

NOT_ON_WINDOWS = {
    *("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "WNOHANG", "fork", "forkpty", "register_at_fork"),
    *("pread", "preadv", "pwrite", "pwritev", "readv", "writev", "sendfile", "posix_fadvise", "posix_fallocate"),
    *("fchmod", "fchown", "chown", "lchown", "fchdir", "chroot", "mkfifo", "mknod", "nice", "getuid", "geteuid"),
    *("getgid", "getegid", "getpgid", "setsid", "setpgid", "killpg", "tcgetpgrp", "ttyname", "uname", "sysconf"),
    *("sched_getaffinity", "sched_setaffinity", "sched_yield", "getloadavg", "wait", "waitid", "statvfs", "sync"),
}
USED = {  # by whom, and why it may be
    ("aggro.cli.cluster", "sched_getaffinity"): "else os.cpu_count()",
    ("aggro.engine.jit.cache_folder", "geteuid"): "folders have no owners there that could be looked at",
    ("aggro.engine.jit.private.disk_cache", "register_at_fork"): "no fork, nothing to do",
    ("aggro.learners.model.forks", "register_at_fork"): "no fork, nothing to do",
    ("aggro.models.atomic", "O_NOFOLLOW"): "not on Windows: such marks are for sweeping, which is left there",
}


def uses(tree: ast.AST) -> set[str]:
    """The names of os that are used without a default: os.pread, and not getattr(os, "pread", None)."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == "os"} & NOT_ON_WINDOWS


def test_what_windows_lacks_is_used_by_nobody_else():
    assert {(name, used) for name, tree in modules().items() for used in uses(tree)} == set(USED)


@pytest.mark.parametrize(("line", "found"), [("os.pread(1, 2, 3)", {"pread"}), ("getattr(os, 'O_NOFOLLOW', 0)", set())])
def test_such_lines_are_found(line, found):
    assert uses(ast.parse(line)) == found
