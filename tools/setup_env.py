"""Make a virtual environment and install Thixo into it, with a C++ compiler if there is none.

    python tools/setup_env.py .venv            Thixo and what it needs
    python tools/setup_env.py .venv test       and what its tests need
    python tools/setup_env.py .venv dev        the tools of a developer

It needs Python 3.11 or later and pip, nothing else: this file runs before anything is installed.
"""

from __future__ import annotations  # an older Python must get as far as our message

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD_TOOLS = [
    "scikit-build-core>=0.10",
    "cmake>=3.21",
    "ninja",
    "numpy>=2",
    "ml_dtypes>=0.5",
    "llvmlite>=0.45",
]
PROBE = """
#include <bit>
#include <concepts>
#include <thread>
template <std::unsigned_integral T> int ones(T x) { return std::popcount(x); }
int main() { int n = 0; std::thread t([&] { n = ones(7u); }); t.join(); return n - 3; }
"""


def run(*command: object, **options: object) -> None:
    """Run a command; say what failed, without a traceback."""
    done = subprocess.run([str(c) for c in command], **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def make_venv(folder: Path) -> Path:
    """The environment's Python, made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder}", flush=True)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    return python


def pip(python: Path, *arguments: object, env: dict[str, str] | None = None) -> None:
    """Install something."""
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments, env=env)


def works(compiler: str) -> bool:
    """Whether a program of C++20 with threads compiles and runs."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.cpp"), Path(folder, "probe")
        source.write_text(PROBE)
        try:
            command = [*compiler.split(), "-std=c++20", "-pthread", str(source), "-o", str(program)]
            if subprocess.run(command, capture_output=True, timeout=1800).returncode:
                return False
            return subprocess.run([str(program)], capture_output=True, timeout=60).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def compiler_environment(python: Path, folder: Path) -> dict[str, str]:
    """The environment variables that make CMake use a compiler that works."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]) and works(name):
            return {"CXX": name}
    print(
        "no C++20 compiler found: taking one from PyPI (ziglang; its first use takes minutes)",
        flush=True,
    )
    pip(python, "ziglang>=0.13")
    tools = folder.resolve() / "zig"
    tools.mkdir(exist_ok=True)
    for name in ("c++", "cc", "ar", "ranlib"):
        script = tools / name
        # zig would compile for this very processor; a wheel should run on others too.
        target = " -mcpu=baseline" if name in ("c++", "cc") else ""
        command = f'"{python.absolute()}" -m ziglang {name}{target}'
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    if not works(str(tools / "c++")):
        sys.exit(
            "the compiler from PyPI (ziglang) does not work here: please install g++ or clang++"
        )
    return {
        "CXX": str(tools / "c++"),
        "CMAKE_ARGS": f"-DCMAKE_AR={tools / 'ar'} -DCMAKE_RANLIB={tools / 'ranlib'} "
        f"-DCMAKE_CXX_COMPILER_AR={tools / 'ar'} -DCMAKE_CXX_COMPILER_RANLIB={tools / 'ranlib'}",
    }


def main() -> None:
    """Make the environment, install."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"Thixo needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}")
    options = [a for a in sys.argv[1:] if not a.startswith("-")]
    folder, extra = Path(options[0]), options[1] if len(options) > 1 else ""
    python = make_venv(folder)
    if extra:
        import tomllib

        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extras = project["optional-dependencies"]
        wanted = [*project["dependencies"], *extras[extra]]
        wanted += [e for e in extras["test"] if extra == "dev"]
        print(f"installing what {extra} needs", flush=True)
        pip(python, *(w for w in wanted if not w.startswith("thixo[")))
        return
    print("installing thixo", flush=True)
    pip(python, *BUILD_TOOLS)
    environment = {**os.environ, **compiler_environment(python, folder)}
    environment["PATH"] = f"{(folder / 'bin').absolute()}{os.pathsep}{environment['PATH']}"
    # The tools are in the environment already, so the build keeps its objects from one time to the next.
    pip(python, "--no-build-isolation", ROOT, env=environment)


if __name__ == "__main__":
    main()
