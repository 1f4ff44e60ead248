"""What this package uses of Numba beyond the interface that it documents, and whether this Numba has it.

Each group of names has a plain way beside it, with the same results (docs/numba.md says what each buys):

- ``PARTIAL``: pieces are compiled just as far as their callers need (``engine.jit.private.partial``). Plainly, Numba
takes each
  the whole way, and a first call waits longer.
- ``ADDRESSES``: compiled code is called by its address, and tuples stay unpacked (``engine.jit.jumps``,
  ``engine.jit.pinned``). Plainly, Numba links what is called, and single rows go through its dispatcher.
- ``DISK_CACHE``: compiled code is kept in files of our own (``engine.jit.private.disk_cache``). Plainly, each process
compiles
  anew: Numba's own files would not notice an upgrade.
- ``OPTIONS``: of the compiler. Plainly, without them.

``MADE_LATE`` are attributes that objects get when they are made, so that they cannot be looked for beforehand. Where
``partial`` misses one it goes the plain way; ``_cache`` is there where ``NullCache`` is, its first value.
"""

from __future__ import annotations

from importlib import import_module

import numba

from aggro.engine.jit.cache_folder import say

PARTIAL = [
    "numba._dynfunc:make_function",
    "numba.core.codegen:JITCodeLibrary._optimize_functions",
    "numba.core.codegen:JITCodeLibrary.finalize",
    "numba.core.codegen:JITCodeLibrary._finalize_dynamic_globals",
    "numba.core.codegen:JITCodeLibrary._get_module_for_linking",
    "numba.core.compiler:CompilerBase",
    "numba.core.compiler:DefaultPassBuilder.define_nopython_pipeline",
    "numba.core.compiler_machinery:PassManager",
    "numba.core.compiler_machinery:register_pass",
    "numba.core.typed_passes:NativeLowering.run_pass",
]
ADDRESSES = [
    "numba.core.callconv:CPUCallConv.call_function",
    "numba.core.callconv:CPUCallConv.get_function_type",
    "numba.core.callconv:CPUCallConv.return_status_propagate",
    "numba.core.codegen:JITCodeLibrary.get_pointer_to_function",
    "numba.core.compiler:CompileResult.entry_point",
    "numba.core.compiler:CompileResult.fndesc",
    "numba.core.compiler:CompileResult.library",
    "numba.core.registry:cpu_target.target_context",
]
DISK_CACHE = [
    "numba.core.caching:NullCache",
    "numba.core.compiler:CompileResult._rebuild",
    "numba.core.compiler:CompileResult._reduce",
    "numba.core.compiler_lock:global_compiler_lock",
    "numba.core.serialize:dumps",
]
# Without these a call between small functions costs the counting of references.
INLINE_OPTIONS: dict[str, object] = {"forceinline": True, "_nrt": False}
MADE_LATE = ["_cache", "_codegen", "_data_layout", "_final_module", "_finalized", "_linking_libraries", "_reload_init"]
COST = {
    "PARTIAL": "a first call takes longer",
    "ADDRESSES": "single rows take longer",
    "DISK_CACHE": "each process compiles",
}


def resolved(name: str) -> object:
    module, _, path = name.partition(":")
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def is_there(group: str) -> bool:
    """Whether this Numba has a group of names; if not, that is said."""
    for name in globals()[group]:
        try:
            resolved(name)
        except (ImportError, AttributeError):
            lacks(group, name)
            return False
    return True


def lacks(group: str, what: str) -> None:
    """Say that something is not as expected, and what follows from it."""
    say(
        f"Numba {numba.__version__} is not built as expected ({what}): {COST[group]}, and results are the same. "
        "A newer aggro may know this Numba."
    )


def options_there() -> dict[str, object]:
    """Those of the compiler's options that this Numba has."""
    try:
        known = resolved("numba.core.registry:cpu_target.options")
    except (ImportError, AttributeError):
        return INLINE_OPTIONS
    return {name: value for name, value in INLINE_OPTIONS.items() if hasattr(known, name)}
