"""How the kernels of random graphs are compiled: mostly in haste, and each text once.

Nearly every random graph has kernels that no other has, and LLVM takes longer for these than everything else for the graph. What is to be
found is in the text of a kernel, which is Thixo's, rarely in what LLVM's code generator makes of it. So three parts in four are compiled at its
level 0, in half of the time, and one in four as users' kernels are.

Objects are kept by their text, not by the version of the generator as users' are: after a change most texts are what they were.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from thixo.codegen.llvm import compile as llvm
from thixo.runtime import cache, kernels

AS_FOR_USERS = 4  # one part in so many
SHARDS = 256  # folders, so that looking through one is quick
LIMIT = 12 * 2**20  # bytes in each

_object_code = llvm.object_code
_NOBODY = "0" * 16  # stands for the generator's fingerprint, which is in names only


class _Nothing(cache.Cache):
    """The disk cache of a worker: it would hold what is kept here already, and drop what users need."""

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, code: bytes) -> None:
        pass


class ByText:
    """Objects by the text that they were made of."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.shards: dict[str, cache.Cache] = {}

    def shard(self, key: str) -> cache.Cache:
        """The folder that a key belongs to."""
        name = f"{int(key[:2], 16) % SHARDS:02x}"
        if name not in self.shards:
            made = self.shards[name] = cache.Cache(os.path.join(self.folder, name))
            if made.limit != LIMIT:
                made.limit = LIMIT
        return self.shards[name]

    def object_code(self, text: str, target: Any, hasty: bool = False) -> bytes:
        """What the compiler makes of a text, now or at an earlier time."""
        own = kernels.generator()
        text = text.replace(own, _NOBODY)
        about = f"{target!r} {llvm.version()} {hasty}\n{text}"
        key = hashlib.sha256(about.encode()).hexdigest()
        found = self.shard(key).get(key)
        if found is None:
            found = _object_code(text, target, hasty)
            self.shard(key).put(key, found)
        return found.replace(_NOBODY.encode(), own.encode())


def use(part: int) -> None:
    """Compile what a part of a run needs as that part has it."""
    if not isinstance(cache.current(), _Nothing):
        folder = cache.current().folder
        cache._current = _Nothing(folder)
        llvm.object_code = ByText(os.path.join(folder, "fuzz")).object_code
    llvm.set_level(2 if part % AS_FOR_USERS == 0 else 0)
