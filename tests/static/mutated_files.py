"""Mutated files of static graphs: none may crash the loader, hang it, make it take much memory or run code.

python tests/static/mutated_files.py 1000      half of them with structure and checksums repaired
"""

import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import thixo as tx
from thixo.errors import ThixoError
from thixo.static import files

WORDS = (
    "graph return guard sizes constant n m 0 1 -1 999999999999 9**99 nan inf None True __import__ os.system "
    "f32 i64 bool[] ( ) [ ] { } , : = <- ... unbind add matmul zeros while_loop show eval # 'a' * \\x00"
).split()


def save_changed(path, contents):
    """Write contents with a checksum that fits, as somebody would who means harm."""
    contents["checksum"] = files._checksum(
        contents["graph"], contents["about"], contents["variables"], contents["constants"], contents["random"]
    )  # fmt: skip
    tx.save(contents, path)


def damaged(data, draw):
    """Bytes changed, cut, doubled or put elsewhere."""
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at = draw.randrange(max(1, len(data)))
        kind = draw.randrange(5)
        if kind == 0:
            data[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            data[at : at + draw.randrange(64)] = b""
        elif kind == 2:
            data[at:at] = data[at : at + draw.randrange(64)]
        elif kind == 3:
            data = data[:at]
        else:
            data[: draw.choice([8, 64])] = bytes(draw.randrange(256) for _ in range(8))
    return bytes(data)


def reworded(text, draw):
    """A text with words changed, moved, left out."""
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(max(1, len(text)))
        if draw.random() < 0.3:
            lines = text.split("\n")
            i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        else:
            text = text[:at] + draw.choice(WORDS) + text[at + draw.randrange(6) :]
    return text


def meant(contents, draw):
    """Contents that are whole and say something else."""
    contents = dict(contents)
    part = draw.choice(["graph", "graph", "about", "variables", "version"])
    if part in ("graph", "about"):
        contents[part] = reworded(contents[part], draw)
    elif part == "variables":
        group = dict(contents[part])
        name = draw.choice(sorted(group))
        kind = draw.randrange(4)
        if kind == 0:
            del group[name]
        else:
            group[name if kind < 3 else "more"] = [
                tx.zeros(0), tx.zeros(3, 3), tx.zeros((), dtype=tx.int64)
            ][kind - 1]  # fmt: skip
        contents[part] = group
    else:
        contents[part] = draw.choice([0, 2, -1, "1", None, 10**30, [1]])
    return contents


def mutations(path, count, seed):
    """How many of some mutations of a file are refused; any other outcome than that or a graph is an error."""
    draw = random.Random(seed)
    good, contents = Path(path).read_bytes(), tx.load(path)
    refused = 0
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder) / "changed.thixo"
        for number in range(count):
            if number % 2:
                changed.write_bytes(damaged(good, draw))
            else:
                save_changed(changed, meant(contents, draw))
            started = time.process_time()
            try:
                tx.static.load(changed)
            except ThixoError:
                refused += 1
            took = time.process_time() - started
            assert took < 10, f"mutation {number} of seed {seed} took {took:.1f} s"
        assert sorted(p.name for p in Path(folder).iterdir()) == ["changed.thixo"]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown < 512 * 1024, f"the process grew by {grown} KiB"
    return refused


if __name__ == "__main__":
    from test_files import trained

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whole.thixo"
        trained(steps=1).save(path)
        total = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
        print(f"{mutations(path, total, 1)} of {total} mutated files were refused, the others load")
