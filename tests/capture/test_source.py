"""Where capture finds the source of a function."""

import thixo as tx


def test_lambdas_that_go_on_in_further_lines_are_whole():
    first, second = (
        lambda x: tx.exp(x)
        .sum(),
        lambda x: x
        + 1,
    )  # fmt: skip
    for f in (first, second):
        assert tx.equal(tx.jit.script(f)(tx.tensor([1.0, 2.0])), f(tx.tensor([1.0, 2.0])))


FILE = """
def f(x):
    return x * 2

class A:
    @staticmethod
    def g(x):
        s = '''
not indented'''
# a comment
        return x + len(s)
"""


def test_a_function_is_found_by_its_own_lines(tmp_path):
    path, scope = tmp_path / "two.py", {}
    exec(compile(FILE, str(path), "exec"), scope)
    path.write_text(FILE + "def broken(:")  # of no concern to the functions before it
    assert tx.equal(tx.jit.script(scope["f"])(tx.ones(2)), 2 * tx.ones(2))
    assert tx.equal(tx.jit.script(scope["A"].g)(tx.ones(2)), 14 * tx.ones(2))
