"""Compiling a piece of a kernel just as far as its callers need it.

Numba takes each jitted function the whole way: optimised, turned into machine code, wrapped for Python. A function
that only compiled code calls needs none of that. It is linked into its caller as it is, and optimised there; done at
every level of calls it is work thrown away, half of the time to compile a bank of models.

What is left out is left out through Numba's own door for other compilers, ``pipeline_class``. A piece that is called
from Python all the same raises ``TypeError``. Where Numba turns out to be built in another way, it goes the whole way.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import NumbaError
from numba.core.typed_passes import NativeLowering

from aggro.engine.jit.private.names import lacks

# What stands in for the machine code: it takes any arguments, sets TypeError and returns no object.
REFUSAL = ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value


class PieceLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to be linked: neither optimised nor turned into machine code, and without the code of what it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        # Several callers may bring a copy along: the linker keeps one of them.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"  # it may come in by several callers
        if hasattr(self, "_reload_init"):  # since Numba 0.63: what is to be done when it is loaded
            self._reload_init.update(*(library._reload_init for library in self._linking_libraries))
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Its own code, and that of all that it calls."""
        whole = self._final_module.clone()
        for library in called_by(self):
            module = library._final_module if isinstance(library, PieceLibrary) else library._get_module_for_linking()
            whole.link_in(module, preserve=True)
        return whole


def called_by(library: PieceLibrary) -> list[Any]:
    """The libraries of all that is called, also by what is called, each once."""
    found: dict[Any, None] = {}
    waiting = list(library._linking_libraries)
    # Each library once, also where it is reached by several ways.
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            if isinstance(one, PieceLibrary):
                waiting += one._linking_libraries
    return list(found)


@register_pass(mutates_CFG=True, analysis_only=False)
class PieceLowering(NativeLowering):  # type: ignore[misc]
    """From Numba's to LLVM's language, and no further."""

    _name = "piece_lowering"

    def run_pass(self, state: Any) -> bool:
        try:
            return self._link_only(state)
        # An error of the user's code, which is the same on the whole way.
        except NumbaError:
            raise
        except Exception as error:
            # Numba is built otherwise: the state goes back to what it was, and the whole way is taken.
            lacks("PARTIAL", f"{type(error).__name__}: {error}")
            state.library = None
            state.flags.no_compile = state.flags.no_cpython_wrapper = False
            return bool(super().run_pass(state))

    def _link_only(self, state: Any) -> bool:
        library = state.library = PieceLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        # Numba's own lowering, stopped before machine code is made.
        state.flags.no_compile = True
        super().run_pass(state)
        library.finalize()
        result = state["cr"]
        described = result.fndesc
        name = described.qualname.rpartition(".")[2]
        # Callers find a piece by this object, so each needs one.
        stand_in = _dynfunc.make_function(described.lookup_module(), name, "", REFUSAL, result.env, (library,))
        state.targetctx.insert_user_function(stand_in, described, [library])
        state.reload_init.extend(getattr(library, "_reload_init", ()))  # since Numba 0.63
        state["cr"] = result._replace(cfunc=stand_in)
        return True


class PieceCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, but for its last step."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("piece")
        passes.passes = list(DefaultPassBuilder.define_nopython_pipeline(self.state).passes)
        # The usual steps, with the last one replaced.
        passes.passes = [(PieceLowering if step is NativeLowering else step, text) for step, text in passes.passes]
        passes.finalize()
        return [passes]
