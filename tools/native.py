"""Build the native core in place, for development: only what changed is compiled again.

    python tools/native.py                      build into src/thixo/_core
    python tools/native.py --operators          also the kernels of common operators; else made on first use
    python tools/native.py --whole-program      optimised across files, as it is shipped: for timing small operators
    python tools/native.py --tests              also build and run the C++ tests
    python tools/native.py --sanitize address,undefined [--tests]

It needs cmake, ninja, numpy and llvmlite in the environment of the Python that runs it (`make dev` sees to that).
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tool(name: str) -> str:
    """A program of this Python's environment, or of the system."""
    own = Path(sysconfig.get_path("scripts")) / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        sys.exit(f"{name} is missing: {sys.executable} -m pip install {name}")
    return found


def configure(folder: Path, options: list[str]) -> None:
    """Let CMake write the build files of a folder."""
    subprocess.run(
        [
            tool("cmake"),
            *("-S", str(ROOT), "-B", str(folder), "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
            f"-DPython_EXECUTABLE={sys.executable}",
            *options,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def put(built: Path, target: Path) -> None:
    """A copy of what was built, if another is there. It is replaced, never written over: other processes may run the old one."""
    target.parent.mkdir(exist_ok=True)
    if target.exists() and filecmp.cmp(built, target, shallow=False):
        return
    fresh = target.with_name(f".{built.name}.{os.getpid()}")
    shutil.copyfile(built, fresh)
    os.replace(fresh, target)
    print(f"built {target.relative_to(ROOT)}")


def install(folder: Path, operators: bool) -> None:
    """The extension module and the generated kernels, beside their Python files; operators' kernels if this build made them."""
    place = ROOT / "src" / "thixo" / "_core"
    made = ("kernels-*.so", "operators-*.so") if operators else ("kernels-*.so",)
    for built in (path for pattern in made for path in folder.glob(pattern)):
        put(built, place / "lib" / built.name)
    module = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    put(folder / module, place / module)


def main() -> None:
    """Configure, build, put in place, test."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitize", default="", help="address,undefined and the like")
    parser.add_argument("--tests", action="store_true", help="build and run the C++ tests")
    parser.add_argument("--no-python", action="store_true", help="only the core, without binding")
    parser.add_argument(
        "--operators", action="store_true", help="also compile common operators' kernels"
    )
    parser.add_argument(
        "--whole-program", action="store_true", help="optimise across files, as for users"
    )
    parser.add_argument("--keep", action="store_true", help="leave the module in the build folder")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1))
    args = parser.parse_args()

    tag = f"{sys.implementation.cache_tag}-{args.sanitize.replace(',', '-') or 'release'}"
    folder = (
        ROOT
        / "build"
        / (tag + ("-core" if args.no_python else "") + ("-whole" if args.whole_program else ""))
    )
    configure(
        folder,
        [
            f"-DTHIXO_OPERATORS={'ON' if args.operators else 'OFF'}",
            f"-DTHIXO_WHOLE_PROGRAM={'ON' if args.whole_program else 'OFF'}",
            f"-DTHIXO_SANITIZE={args.sanitize}",
            f"-DTHIXO_NATIVE_TESTS={'ON' if args.tests else 'OFF'}",
            f"-DTHIXO_PYTHON={'OFF' if args.no_python else 'ON'}",
        ],
    )
    build = subprocess.run([tool("cmake"), "--build", str(folder), "-j", args.jobs])
    if build.returncode:
        sys.exit(build.returncode)
    if not args.no_python and not args.keep:
        install(folder, args.operators)
    if args.tests:
        for built in folder.glob("kernels-*.so"):  # the core looks for them beside the program
            put(built, folder / "lib" / built.name)
        test = [tool("ctest"), "--test-dir", str(folder), "--output-on-failure"]
        sys.exit(subprocess.run(test).returncode)


if __name__ == "__main__":
    main()
