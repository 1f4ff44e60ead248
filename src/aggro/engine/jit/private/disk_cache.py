"""Compiled code on disk: one file for each entry point, list of types and processor, checked before it is read.

What came with the package (``engine.jit.prebuilt``) is looked at first.

It takes the place of Numba's own files, through the few methods that a dispatcher calls. A file begins with a checksum
of its name and content. What is cut, changed or in the wrong place is compiled again and written anew: it never
reaches ``pickle``, nor the processor.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import pickle
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from aggro.engine.jit.cache_folder import folder_for, say
from aggro.engine.jit.prebuilt import Prebuilt, level, prebuilt
from aggro.engine.jit.prebuilt import content as prebuilt_content
from aggro.engine.jit.stamp import sources, stamp

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CODE_MAGIC = b"aggro compiled code\n"
CHECKSUM_BYTES = hashlib.sha256().digest_size
SOURCES = sources()  # at import: what is compiled later is this code, even if the files change meanwhile
CODE_FILES_USED: set[Path] = set()  # the files that this process has read or written
COMPILE_WAYS: list[object] = []  # to compile, where there are several: see ``engine.jit.private.names``


@cache
def home() -> Path | None:
    """The folder of this process's stamp."""
    if not SOURCES:
        say("The files of aggro cannot be read, so compiled code is not stored, and each process compiles it again.")
        return None
    return folder_for(stamp(SOURCES, *COMPILE_WAYS))


@cache
def came() -> Prebuilt:
    """The compiled code that came with this package; what somebody should know of it is said."""
    found = prebuilt(SOURCES, tuple(map(repr, COMPILE_WAYS)))
    if found.is_wrong:
        say(f"The compiled code of this package is not used, and code is compiled here, since {found.why}.")
    return found


def told(kind: Any) -> str:
    """A type in full: classes of tuples with their modules, since two may have one name."""
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        made = getattr(kind, "instance_class", tuple)
        return f"{made.__module__}.{made.__qualname__}({', '.join(map(told, kind))})"
    held = getattr(kind, "held", None)
    return f"{type(kind).__name__}({told(held)})" if held is not None else str(kind)


def checked(name: str, payload: bytes) -> bytes:
    """The checksum of an entry."""
    return hashlib.sha256(name.encode() + b"\n" + payload).digest()


class KeptCode(NullCache):  # type: ignore[misc]
    """What a dispatcher of Numba asks for compiled code, and gives it to.

    There is nothing to flush: under its stamp, no code is out of date.
    """

    def __init__(self, function: Any) -> None:
        # The line number tells apart functions of one name in one file.
        self._name = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"

    @property
    def cache_path(self) -> str | None:
        """Where the files are; None if nothing is kept."""
        folder = home()
        return None if folder is None else str(folder)

    def file(self, signature: Any, processor: tuple[str, ...]) -> str:
        """The name of the file for arguments of these types on a processor, as LLVM tells it."""
        # Types in full: two states may have one name, and different code.
        kinds = ", ".join(map(told, getattr(signature, "args", signature)))
        key = hashlib.sha256(repr((self._name, kinds, processor)).encode()).hexdigest()[:32]
        return f"{self._name.rpartition('.')[2].partition(':')[0]}-{key}.code"

    def path(self, signature: Any, codegen: Any) -> Path | None:
        """Where the code for arguments of these types on this processor is kept; None if nothing is."""
        folder = home()
        return None if folder is None else folder / self.file(signature, codegen.magic_tuple())

    def shipped(self, signature: Any, codegen: Any) -> str:
        """What the file is called that came with the package, for processors of its level."""
        return self.file(signature, (codegen.magic_tuple()[0], level(), ""))

    def is_there(self, signature: Any, codegen: Any) -> bool:
        """Whether the code need not be compiled.

        Code that came with the package is looked for first: a process that compiles nothing needs no folder, and is not
        warned that there is none.
        """
        if self.shipped(signature, codegen) in came().files:
            return True
        path = self.path(signature, codegen)
        return path is not None and path.exists()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The code for arguments of these types, or None if it is not there or not whole."""
        target_context.refresh()
        codegen = target_context.codegen()
        # Code that came with the package first: it needs no folder.
        if came().files:
            name = self.shipped(signature, codegen)
            content = prebuilt_content(came(), name)
            result = None if content is None else rebuilt(name, content, signature, target_context)
            if result is not None:
                return result
        path = self.path(signature, codegen)
        if path is None:
            return None
        # Not there: never compiled for these types, or removed since.
        try:
            kept = path.read_bytes()
        except OSError:
            return None
        CODE_FILES_USED.add(path)
        return rebuilt(path.name, kept, signature, target_context)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled; if that cannot be, say so once."""
        path = self.path(signature, result.library.codegen)
        # Not kept: code with addresses of this process, or of sources that have changed since they were imported.
        if path is None or result.library.has_dynamic_globals or sources() != SOURCES:
            return
        payload = compressed(result._reduce())
        try:
            write(path, CODE_MAGIC + checked(path.name, payload) + payload)
            CODE_FILES_USED.add(path)
        except OSError as error:
            say(
                f"Compiled code cannot be stored in {path.parent} ({error.strerror or error}), so the next process "
                "compiles it again."
            )


def compressed(parts: tuple[Any, ...]) -> bytes:
    """What Numba takes compiled code apart into, without the source annotated with types, a quarter of it."""
    return zlib.compress(dumps(tuple("" if isinstance(part, str) else part for part in parts)))


def rebuilt(name: str, content: bytes, signature: Any, target_context: Any) -> Any:
    """What was compiled, from what is in a file of this name; None if it is not whole, or not for these types."""
    payload = content[len(CODE_MAGIC) + CHECKSUM_BYTES :]
    # The checksum first: nothing that was cut or changed may reach ``pickle``.
    if content[: len(CODE_MAGIC) + CHECKSUM_BYTES] != CODE_MAGIC + checked(name, payload):
        return None
    try:
        result = CompileResult._rebuild(target_context, *pickle.loads(zlib.decompress(payload)))
    except Exception:  # it was whole when it was written, and cannot be used: then it is made again
        return None
    # A name is a hash of the types, so the types themselves are compared once more.
    return result if result.signature.args == tuple(getattr(signature, "args", signature)) else None


def write(path: Path, content: bytes) -> None:
    """Put a file in its place, whole."""
    path.parent.mkdir(mode=0o700, exist_ok=True)  # someone may have cleaned up
    # Written beside its place and then renamed: other processes find all of the file or none of it.
    temporary = path.with_name(f"{token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Compile without the garbage collector, which takes a fifth of the time: it looks for cycles, again and again,
    among millions of objects that are all in use. No other thread compiles meanwhile, and no child is forked.
    """
    # Under the lock, so that two threads do not mix up who switches the collector on again.
    with global_compiler_lock:
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def take_turns(compiled: Any) -> None:
    """Let one process compile for a signature, and others wait and find it on disk: it saves their time."""
    if fcntl is None:
        return
    compile_or_load = compiled.compile

    def in_turn(signature: Any) -> Any:
        if tuple(signature) in compiled.overloads:
            return compile_or_load(signature)
        # Numba's own lock comes first, as in all threads: compiling one function may ask for another.
        with global_compiler_lock:
            codegen = compiled.targetctx.codegen()
            # On disk by now: to load it, nobody has to wait.
            if compiled._cache.is_there(signature, codegen):
                return compile_or_load(signature)
            path = compiled._cache.path(signature, codegen)
            if path is None:
                return compile_or_load(signature)
            try:
                turn = path.with_suffix(".turn").open("w")
            except OSError:  # nothing can be kept there either
                return compile_or_load(signature)
            # A lock on a file, since processes share no other; who waits here finds the code on disk.
            with turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                try:
                    return compile_or_load(signature)
                finally:
                    fcntl.flock(turn, fcntl.LOCK_UN)  # a child of this process may have the file open too

    compiled.compile = in_turn


if hasattr(os, "register_at_fork"):  # a child must not begin with another thread's compiling half done
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
