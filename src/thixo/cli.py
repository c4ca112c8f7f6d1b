"""The command line: `thixo COMMAND ...`, or `python -m thixo COMMAND ...`.

A command is a function under `@command` that gives a parser its arguments and, with
`parser.set_defaults(run=...)`, the function to run; that one takes the arguments and returns the exit code.
What a command needs is imported when it runs: the others stay quick.

Exit codes: 0, done; 1, it could not be done (the reason is on stderr); 2, wrong arguments.
"""

import argparse
import math
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from thixo.errors import ThixoError

if TYPE_CHECKING:
    from thixo.runtime.cache import Usage

Arguments = argparse.Namespace
Run = Callable[[Arguments], int]
Describe = Callable[[argparse.ArgumentParser], None]

COMMANDS: dict[str, tuple[str, Describe]] = {}


def command(name: str, summary: str) -> Callable[[Describe], Describe]:
    """Enter a command in the table."""

    def enter(describe: Describe) -> Describe:
        COMMANDS[name] = (summary, describe)
        return describe

    return enter


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process; its exit code."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        run: Run = arguments.run
        return run(arguments)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        reason = where + (error.strerror or str(error))
    except ThixoError as error:
        reason = str(error)
    print(f"{arguments.name}: {reason}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    from thixo import __version__

    parser = argparse.ArgumentParser(prog="thixo", description="Tools of the Thixo framework.")
    parser.add_argument("--version", action="version", version=f"thixo {__version__}")
    _choices(parser, COMMANDS)
    return parser


def _choices(parser: argparse.ArgumentParser, table: dict[str, tuple[str, Describe]]) -> None:
    """Let the next word choose from a table; without one, the help is shown."""

    def without(_: Arguments) -> int:
        parser.print_help(sys.stderr)
        return 2

    parser.set_defaults(run=without)
    below = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (summary, describe) in table.items():
        child = below.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
        child.set_defaults(name=child.prog)
        describe(child)


# ---- thixo cache


@command("cache", "the compiled kernels that are kept on disk")
def _cache(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The folder is THIXO_CACHE where that is set, else thixo in the user's folder of caches. "
        "Kernels that are gone are made again when they are needed."
    )
    _choices(
        parser,
        {
            "show": ("say where the kernels are, how many, and how large", _cache_show),
            "clear": ("remove every kernel", _cache_clear),
            "move": ("bring the kernels to another folder", _cache_move),
            "limit": ("set how many bytes of kernels may stay", _cache_limit),
        },
    )


def _cache_show(parser: argparse.ArgumentParser) -> None:
    def run(_: Arguments) -> int:
        from thixo.runtime import cache

        place = cache.place()
        kept = cache.Cache(place.folder)
        usage = kept.usage()
        rows = {
            "folder": place.folder,
            "chosen by": place.reason,
            "kernels": str(usage.kernels),
            "bytes": _size(usage.size),
            "limit": _size(kept.limit),
            "oldest use": _moment(usage.oldest),
            "newest use": _moment(usage.newest),
        }
        for name, value in rows.items():
            print(f"{name:12}{value}")
        if place.trouble is None:
            return 0
        print(f"kernels cannot be kept in {place.folder}: {place.trouble}", file=sys.stderr)
        return 1

    parser.set_defaults(run=run)


def _cache_clear(parser: argparse.ArgumentParser) -> None:
    def run(_: Arguments) -> int:
        from thixo.runtime import cache

        folder = cache.place().folder
        print(f"removed {_amount(cache.Cache(folder).clear())} from {folder}")
        return 0

    parser.set_defaults(run=run)


def _cache_move(parser: argparse.ArgumentParser) -> None:
    def run(arguments: Arguments) -> int:
        import os

        from thixo.runtime import cache

        source = cache.Cache(cache.place().folder)
        target = cache.Cache(os.path.expanduser(arguments.folder))
        if os.path.realpath(source.folder) == os.path.realpath(target.folder):
            print(f"{arguments.name}: the kernels are in {target.folder} already", file=sys.stderr)
            return 1
        print(f"moved {_amount(source.move(target))} from {source.folder} to {target.folder}")
        if cache.place().folder != target.folder:
            print("To use that folder from now on, set this where your shell starts:")
            print(f"  export {cache.VARIABLE}={shlex.quote(target.folder)}")
        return 0

    parser.add_argument("folder", metavar="PATH", help="a folder; it is made if it is not there")
    parser.set_defaults(run=run)


def _cache_limit(parser: argparse.ArgumentParser) -> None:
    def run(arguments: Arguments) -> int:
        from thixo.runtime import cache

        kept = cache.Cache(cache.place().folder)
        kept.limit = arguments.size
        removed = kept.trim()
        print(f"at most {_size(arguments.size)} stay in {kept.folder}")
        if removed.kernels:
            print(f"removed {_amount(removed)}, the least recently used")
        return 0

    parser.add_argument(
        "size",
        metavar="SIZE",
        type=_read_size,
        help="bytes, or with a unit of 1024: 300K, 512M, 2G; 0 keeps nothing",
    )
    parser.set_defaults(run=run)


# ---- how things are read and said


_UNITS = "KMGT"


def _read_size(text: str) -> int:
    """Bytes from "1000", "512M", "1.5 GB" or "2GiB"."""
    number = text.strip().upper()
    for ending in ("IB", "B"):
        if number.endswith(ending):
            number = number.removesuffix(ending)
            break
    power = _UNITS.find(number[-1:]) + 1 if number else 0
    try:
        size = float(number[:-1] if power else number) * 1024**power
    except ValueError:
        size = math.nan
    if not 0 <= size < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; 1000000, 512M and 2G are")
    return int(size)


def _size(size: int) -> str:
    power = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS))
    exact = f"{size:,} {'byte' if size == 1 else 'bytes'}"
    return f"{exact} ({size / 1024**power:.4g} {_UNITS[power - 1]}iB)" if power else exact


def _amount(usage: "Usage") -> str:
    return f"{usage.kernels} {'kernel' if usage.kernels == 1 else 'kernels'}, {_size(usage.size)}"


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
