"""The native core on other processors: its C++ tests, cross-compiled, under qemu-user. Run by hand.

    apt-get install qemu-user g++-aarch64-linux-gnu
    python tests/outside/emulated_core.py [--jobs 2]

aarch64: the core and its tests are compiled by a cross compiler and linked to the kernels that the generator makes for
that target. x86-64-v3: the tests of this machine, on an emulated processor without AVX-512. (The kernels one by
one, against the interpreter: tests/codegen/test_emulated.py.)
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = {
    "test_thread_pool",
    "test_allocator",
}  # of threads and memory, not of processors; minutes under emulation

CROSS = {
    "aarch64": (
        ["aarch64-linux-gnu-g++", "qemu-aarch64"],
        [
            "-DCMAKE_SYSTEM_NAME=Linux",
            "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
            "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
        ],
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    ),
    "x86-64-v3": (["c++", "qemu-x86_64"], [], ["qemu-x86_64", "-cpu", "Haswell"]),
}


def tool(name: str) -> str:
    """A program of this Python's environment, or of the system."""
    own = Path(sysconfig.get_path("scripts")) / name
    return str(own) if own.exists() else name


def build(target: str, options: list[str], jobs: int) -> Path:
    """The core, its tests and its kernels."""
    folder = ROOT / "build" / f"emulated-{target}"
    settings = [
        "-DTHIXO_PYTHON=OFF",
        "-DTHIXO_NATIVE_TESTS=ON",
        "-DTHIXO_WHOLE_PROGRAM=OFF",  # or each of the tests takes a minute to link
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    configure = [tool("cmake"), "-S", str(ROOT), "-B", str(folder), *ninja, *settings, *options]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool("cmake"), "--build", str(folder), "-j", str(jobs)], check=True)
    kernels = folder / "lib"  # where programs look for them
    kernels.mkdir(exist_ok=True)
    for library in folder.glob("kernels-*.so"):
        shutil.copy(library, kernels)
    return folder


def main() -> int:
    """Build and run all; exit 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", nargs="+", choices=list(CROSS), default=list(CROSS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    failed = []
    for target in options.target:
        needed, settings, emulator = CROSS[target]
        missing = [name for name in needed if shutil.which(name) is None]
        if missing:
            sys.exit(f"{target}: {', '.join(missing)} are not installed")
        folder = build(target, settings, options.jobs)
        for source in sorted((ROOT / "tests" / "native").glob("test_*.cpp")):
            if source.stem in SLOW:
                continue
            done = subprocess.run(
                [*emulator, str(folder / source.stem), "emulated"],  # of slow ones: fewer cases
                capture_output=True,
                text=True,
            )
            good = done.returncode == 0
            print(f"{target:10} {source.stem:20} {'passed' if good else 'FAILED'}", flush=True)
            if not good:
                failed.append(source.stem)
                print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
