"""Thixo as one more peer of the peers' suite: python bench/peers_side.py SUITE --peer thixo --case CASE ...

Peer `thixo` is plain eager code, `thixo-static` the same models as declared graphs (`static_side.py`), `thixo-compiled` plain code with
a decorator (`compiled_side.py`).

The suite's models are written for any library; its class for PyTorch says which function each part is. Thixo has the
same names, so here that class is given another module. What runs, how it is timed and what is printed stay the suite's.
With `--turns` first, any peer's run waits for its turns before the suite times it (`turns.py`).
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any


def load(path: str) -> Any:
    """The suite as a module."""
    spec = importlib.util.spec_from_file_location("peers_suite", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    suite = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = suite  # MindSpore looks functions up in their module
    spec.loader.exec_module(suite)
    return suite


def add_thixo(suite: Any) -> None:
    """Enter Thixo, with plain eager code, with a decorator and with declared graphs, in the suite's table of peers."""

    class Thixo(suite.Torch):
        """thixo: eager"""

        def __init__(self, peer: str, threads: int) -> None:
            import thixo

            functional = thixo.nn.functional
            self.t, self.F, self.peer = thixo, functional, peer
            thixo.set_num_threads(threads)
            self.compiled = self.cl = False
            self.mode = None
            self.relu, self.gelu = functional.relu, functional.gelu
            self.tanh, self.sigmoid, self.mm = thixo.tanh, thixo.sigmoid, thixo.mm
            self.linear = self.linear_t = functional.linear
            self.version = thixo.__version__

    def choose(peer: str, threads: int) -> Any:
        if peer == "thixo":
            return Thixo(peer, threads)
        sys.path.insert(0, str(Path(__file__).parent))
        from compiled_side import compiled_peer
        from static_side import static_peer

        make = compiled_peer if peer.startswith("thixo-compiled") else static_peer
        return make(suite, Thixo)(peer, threads)

    choose.__doc__ = (
        "thixo: eager; thixo-static: declared graphs; thixo-static-serial: run operator by operator; "
        "thixo-compiled, -compiled-script, -compiled-lazy: plain code with a decorator"
    )
    suite.PEERS["thixo"] = choose


def hold_all(suite: Any) -> None:
    """Make every peer's runs wait for their turns."""
    sys.path.insert(0, str(Path(__file__).parent))
    from turns import hold

    for name, make in suite.PEERS.items():
        suite.PEERS[name] = lambda *given, make=make: hold(make(*given))


if __name__ == "__main__":
    in_turns = sys.argv[1] == "--turns"
    suite = load(sys.argv.pop(2 if in_turns else 1))
    add_thixo(suite)
    if in_turns:
        sys.argv.pop(1)
        hold_all(suite)
    suite.main()
