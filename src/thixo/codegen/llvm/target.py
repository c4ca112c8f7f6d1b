"""Target descriptions: what the generator needs to know of a processor."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from thixo import config
from thixo.errors import ArgumentError


@dataclass(frozen=True)
class Target:
    """A family of processors. Kernels are generated for families, so that one object serves many machines."""

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int  # of vectors
    masks: bool  # loads and stores of some lanes only are one instruction
    halves: bool = True  # float16 is converted by an instruction
    scales: bool = False  # instructions take floats apart and put them together
    streams: bool = False  # whole vectors can be stored past the cache

    def lanes(self, element_bytes: int) -> int:
        """How many elements of this size a vector holds."""
        return max(1, self.vector_bytes // element_bytes)

    @property
    def attributes(self) -> str:
        """What each function says, so that vectors are used at their full width."""
        return _of_width(self.vector_bytes)

    @property
    def half_attributes(self) -> str | None:
        """The same where each vector is to be handled as two halves; None where no processor gains by it."""
        return _of_width(self.vector_bytes // 2) if self.vector_bytes == 64 else None


def _of_width(bytes: int) -> str:
    return f'nounwind "prefer-vector-width"="{bytes * 8}" "min-legal-vector-width"="{bytes * 8}"'


def _linux(machine: str) -> str:
    return f"{machine}-unknown-linux-gnu"


X86_64_V4 = Target(
    "x86-64-v4",
    _linux("x86_64"),
    "x86-64-v4",
    "-prefer-256-bit",
    64,
    32,
    True,
    scales=True,
    streams=True,
)
X86_64_V3 = Target("x86-64-v3", _linux("x86_64"), "x86-64-v3", "", 32, 16, True, streams=True)
AARCH64 = Target("aarch64", _linux("aarch64"), "generic", "+neon", 16, 32, False)
# Vectors that any back end can split up; what runs on a machine that none of the above describes.
PORTABLE = Target("portable", "", "", "", 16, 16, False, halves=False)

TARGETS = {t.name: t for t in (X86_64_V4, X86_64_V3, AARCH64, PORTABLE)}


def named(name: str) -> Target:
    """The target of this name."""
    if name not in TARGETS:
        raise ArgumentError(f"target {name!r} is unknown; there are {', '.join(TARGETS)}")
    return TARGETS[name]


@functools.cache
def host() -> Target:
    """The best description of this machine; the environment variable THIXO_TARGET names another one."""
    if config.target:
        return named(config.target)
    from thixo import _core  # not there when the build makes kernels, which names its targets

    return named(_core.host_target())
