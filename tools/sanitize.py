"""Run the C++ tests and the Python suite with the address and undefined-behaviour sanitizers.

    python tools/sanitize.py [pytest arguments]

The sanitized core is built apart (build/...) and put into a copy of the package there, so that the one in
src/thixo/_core stays as it is. It needs g++ or clang++ (zig has no address sanitizer), and Linux.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = "address,undefined"
BUILD = ROOT / "build" / f"{sys.implementation.cache_tag}-address-undefined"


def library(compiler: str, *names: str) -> str | None:
    """Where the compiler has a library of one of these names."""
    for name in names:
        found = subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True
        ).stdout.strip()
        if os.path.isabs(found) and os.path.exists(found):
            return os.path.realpath(found)
    return None


def preloaded(compiler: str) -> str:
    """The sanitizer's library, and that of C++ whose exceptions it watches: both come before Python."""
    machine = os.uname().machine
    sanitizer = library(compiler, "libasan.so", f"libclang_rt.asan-{machine}.so")
    if sanitizer is None:
        sys.exit(f"{compiler} has no address sanitizer library; install g++ or clang++ with it")
    standard = library(compiler, "libstdc++.so.6")
    return f"{sanitizer}:{standard}" if standard else sanitizer


def main() -> None:
    """Build, run the C++ tests (defects planted on purpose must be reported), run the suite."""
    compiler = os.environ.get("CXX", "c++")
    environment = {
        **os.environ,
        # Python leaves much behind at exit, so only errors count here; leaks are tested by counting.
        # An allocation that is too large must fail as it does without the sanitizer.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    script = [sys.executable, str(ROOT / "tools" / "native.py"), "--sanitize", KINDS, "--tests"]
    if subprocess.run([*script, "--keep"], env=environment).returncode:
        sys.exit("the C++ tests fail under the sanitizers")
    package = BUILD / "package" / "thixo"
    ignored = shutil.ignore_patterns("_native*.so", "__pycache__", "core", "binding")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "thixo", package, ignore=ignored)
    module = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copyfile(BUILD / module, package / "_core" / module)
    (package / "_core" / "lib").mkdir(exist_ok=True)
    for kernels in BUILD.glob("kernels-*.so"):
        shutil.copyfile(kernels, package / "_core" / "lib" / kernels.name)
    environment |= {
        "LD_PRELOAD": preloaded(compiler),
        "PYTHONPATH": str(package.parent),
        "PYTHONMALLOC": "malloc",  # so that Python's own objects are watched as well
    }
    arguments = sys.argv[1:] or ["-x", "-q", "-n", "auto", "tests"]
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    sys.exit(subprocess.run(pytest, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
