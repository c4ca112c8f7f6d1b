"""Run the C++ tests and the Python suite with the address and undefined-behaviour sanitizers, or that of threads.

    python tools/sanitize.py [--thread] [pytest arguments]

The sanitized core is built apart (build/...) and put into a copy of the package there, so that the one in
src/thixo/_core stays as it is. It needs g++ or clang++ (zig has no address sanitizer), and Linux.

The sanitizer of threads sees the pool, the queue and all of the core, not what kernels that are compiled at run time read and write.
By default it runs the tests of programs, whose steps run side by side.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = "address,undefined"
SIDE_BY_SIDE = ["-x", "-q", "tests/runtime/test_lanes.py", "tests/runtime/test_packed.py"]


def library(compiler: str, *names: str) -> str | None:
    """Where the compiler has a library of one of these names."""
    for name in names:
        found = subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True
        ).stdout.strip()
        if os.path.isabs(found) and os.path.exists(found):
            return os.path.realpath(found)
    return None


def preloaded(compiler: str, kind: str) -> str:
    """The sanitizer's library, and that of C++ whose exceptions it watches: both come before Python."""
    machine = os.uname().machine
    short = kind[0] + "san"
    sanitizer = library(compiler, f"lib{short}.so", f"libclang_rt.{short}-{machine}.so")
    if sanitizer is None:
        sys.exit(f"{compiler} has no {kind} sanitizer library; install g++ or clang++ with it")
    standard = library(compiler, "libstdc++.so.6")
    return f"{sanitizer}:{standard}" if standard else sanitizer


def main() -> None:
    """Build, run the C++ tests (defects planted on purpose must be reported), run the suite."""
    compiler = os.environ.get("CXX", "c++")
    given = sys.argv[1:]
    threads = given[:1] == ["--thread"]
    kinds = "thread" if threads else KINDS
    folder = ROOT / "build" / f"{sys.implementation.cache_tag}-{kinds.replace(',', '-')}"
    environment = {
        **os.environ,
        # Python leaves much behind at exit, so only errors count here; leaks are tested by counting.
        # An allocation that is too large must fail as it does without the sanitizer.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
    }
    script = [sys.executable, str(ROOT / "tools" / "native.py"), "--sanitize", kinds, "--keep"]
    if subprocess.run(script + ["--tests"] * (not threads), env=environment).returncode:
        sys.exit("the C++ tests fail under the sanitizers")
    package = folder / "package" / "thixo"
    ignored = shutil.ignore_patterns("_native*.so", "__pycache__", "core", "binding")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "thixo", package, ignore=ignored)
    module = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copyfile(folder / module, package / "_core" / module)
    (package / "_core" / "lib").mkdir(exist_ok=True)
    for kernels in folder.glob("kernels-*.so"):
        shutil.copyfile(kernels, package / "_core" / "lib" / kernels.name)
    environment |= {
        "LD_PRELOAD": preloaded(compiler, kinds.partition(",")[0]),
        "PYTHONPATH": str(package.parent),
        "PYTHONMALLOC": "malloc",  # so that Python's own objects are watched as well
    }
    arguments = given[threads:] or (
        SIDE_BY_SIDE if threads else ["-x", "-q", "-n", "auto", "tests"]
    )
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    sys.exit(subprocess.run(pytest, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
