"""From the text of a module to an object file, and from an object file to addresses."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from thixo.codegen.llvm.emit import PLAIN
from thixo.codegen.llvm.target import Target

PIPELINE = "inline,sroa,instcombine,simplifycfg"
_level = 2  # of LLVM's code generator


_of_thread = threading.local()  # threads compile side by side: each has its own machines


def _machine(target: Target) -> Any:
    known, name = _of_thread.__dict__, f"{target!r} {_level}"
    if name not in known:
        known[name] = _new_machine(target)
    return known[name]


@functools.cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _new_machine(target: Target) -> Any:
    import llvmlite.binding as llvm

    _initialize()
    triple = target.triple or llvm.get_process_triple()
    made = llvm.Target.from_triple(triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=_level, reloc="pic", codemodel="small"
    )
    made.set_asm_verbosity(False)
    return made


def set_level(level: int) -> None:
    """How hard the code generator tries for what is compiled from now on: 2, or 0 for haste.

    Kernels that are there already stay as they are.
    """
    global _level
    _level = level


def version() -> str:
    """What makes objects differ besides the text: goes into every key of a cache."""
    import llvmlite
    import llvmlite.binding as llvm

    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}, {PIPELINE}; code at {_level}"


class _Hasty:
    """LLVM does not look for plainer addresses while kernels of this process are made in haste.

    Those in the text are as plain as they can be; to look is half of the time that LLVM would take, and finds nothing. LLVM
    has this for all of the process alone, where others may use it too, so it is set no longer than that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def _set(self, on: bool) -> None:
        import llvmlite.binding as llvm

        llvm.set_option("thixo", f"-disable-lsr={'true' if on else 'false'}")

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._inside:
                self._set(True)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._set(False)


_hasty = _Hasty()


def object_code(text: str, target: Target, hasty: bool = False) -> bytes:
    """An object file of the module; in haste where somebody waits for it."""
    import llvmlite.binding as llvm

    machine = _machine(target)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    _optimise(module, machine, combine=not text.startswith(PLAIN))
    with _hasty() if hasty else contextlib.nullcontext():
        return _emitted(module, machine)


def _emitted(module: Any, machine: Any) -> bytes:
    """What machine.emit_object gives.

    llvmlite lets one thread in at a time. LLVM itself needs that only of threads that share a context or a machine, and
    ours share neither, so its longest call goes past the lock, where this llvmlite has it as we know it.
    """
    from llvmlite.binding import ffi

    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return bytes(machine.emit_object(module))
    with ffi.OutputString() as error:
        buffer = emit(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def assembly(text: str, target: Target) -> str:
    """The same as text, to look at."""
    import llvmlite.binding as llvm

    machine = _machine(target)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    _optimise(module, machine, combine=not text.startswith(PLAIN))
    return str(machine.emit_assembly(module))


def _optimise(module: Any, machine: Any, combine: bool = True) -> None:
    # The text is vectorised and unrolled already: all that is left is to tidy up. To combine instructions takes a sixth of
    # the time of large kernels.
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=0)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    if combine:
        passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


class Loaded:
    """Object files in this process; they stay for its life.

    LLVM's newer linker puts an object in one piece. The older one asks for each section's memory anew and gets it
    anywhere where that near the last is taken, but code reaches its constants within 2 GB only.
    """

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self._linker = llvm.create_lljit_compiler(machine, use_jit_link=True)
        self._count = 0

    def addresses(self, code: bytes, names: Sequence[str]) -> list[int]:
        """Load the object; where these functions of it are."""
        import llvmlite.binding as llvm

        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            library.export_symbol(name)
        self._count += 1
        loaded = library.link(self._linker, f"object {self._count}")
        found = [loaded[name] for name in names]
        loaded.detach()  # or it would be gone with this handle
        return found


@functools.cache
def loaded() -> Loaded:
    """The one that this process uses."""
    return Loaded()
