"""Values that are known only when the program runs, where Python needs them before."""

from tests.capture.causes.cause import cause

cause(
    "an array of numpy",
    """
    def f(x):
        return tx.tensor(np.exp(x.numpy()))
    """,
    "script: f cannot be captured: numpy(): it needs the values of a tensor; use "
    "operators of tensors (model.py:2)",
    """
    def f(x):
        return tx.exp(x)
    """,
)
cause(
    "a condition of many elements",
    """
    def f(x):
        if x > 0:
            return x
        return -x
    """,
    "script: f cannot be captured: a condition: a tensor of shape [3] has no one truth; "
    "say x.any() or x.all() (model.py:2)",
    """
    def f(x):
        if (x > 0).all():
            return x
        return -x
    """,
)
cause(
    "the number of many elements",
    """
    def f(x):
        return x * x.item()
    """,
    "script: f cannot be captured: item(): a tensor of shape [3] has more than one "
    "element; reduce it before (model.py:2)",
    """
    def f(x):
        return x * x.sum().item()
    """,
)
cause(
    "digits of a number that the data decide",
    """
    def f(x):
        return x * round(x.sum().item(), 2)
    """,
    "script: f cannot be captured: round: decimal digits of a number that the data "
    "decide; round a tensor (model.py:2)",
    """
    def f(x):
        return x * tx.round(x.sum() * 100) / 100
    """,
)
cause(
    "math on two numbers that the data decide",
    """
    def f(x):
        return x * math.gcd(int(x[0]), int(x[1]))
    """,
    "script: f cannot be captured: index: it needs the value of a tensor i64[] while the "
    "program is captured; keep it a tensor, or leave this part out of what is captured "
    "(model.py:2)",
    """
    def f(x):
        return x * tx.gcd(x[0].long(), x[1].long())
    """,
    "(tx.tensor([4.0, 6.0]),)",
)
cause(
    "a whole number beyond 64 bits",
    """
    def f(x):
        n = x.argmax().item()
        return n + 2**70
    """,
    "script: f cannot be captured: number 1180591620717411303424: it does not fit into "
    "64 bits; use smaller numbers (model.py:3)",
    """
    def f(x):
        n = x.argmax().item()
        return n + 2**40
    """,
)
cause(
    "the step of a range",
    """
    def f(x):
        total = x.sum()
        for i in range(0, 6, int(x.argmax()) + 1):
            total = total + i
        return total
    """,
    "script: f cannot be captured: range: its step is not known; use a fixed step (model.py:3)",
    """
    def f(x):
        total = x.sum()
        i = 0
        step = int(x.argmax()) + 1
        while i < 6:
            total = total + i
            i += step
        return total
    """,
)
cause(
    "a filter that the data decide",
    """
    def f(x):
        return sum(filter(lambda v: v > 0, x.unbind()))
    """,
    "script: f cannot be captured: filter: the data decide what is left; use tx.where or "
    "a mask (model.py:2)",
    """
    def f(x):
        return tx.where(x > 0, x, 0.0).sum()
    """,
)
cause(
    "a place in a list that the data decide",
    """
    def f(x):
        names = [1, 2, 3]
        names.pop(int(x.argmax()))
        return x * sum(names)
    """,
    "script: f cannot be captured: .pop: its place or element is known only when the "
    "program runs; use a tensor (model.py:3)",
    """
    def f(x):
        names = tx.tensor([1, 2, 3])
        left = tx.arange(3) != x.argmax()
        return x * (names * left).sum()
    """,
)
cause(
    "a search in a list",
    """
    def f(x):
        return [1, 2, 3].index(int(x.sum()))
    """,
    "script: f cannot be captured: .index: it compares with something the data decide; "
    "use a tensor and argmax (model.py:2)",
    """
    def f(x):
        return int((tx.tensor([1, 2, 3]) == int(x.sum())).int().argmax())
    """,
)
cause(
    "a key of a dict that the data decide",
    """
    def f(x):
        table = {}
        table[int(x.argmax())] = x
        return sum(table.values())
    """,
    "script: f cannot be captured: [...] =: a key is known only when the program runs; "
    "use a tensor (model.py:3)",
    """
    def f(x):
        table = tx.zeros(3, 3)
        table[x.argmax()] = x
        return table.sum(0)
    """,
)
cause(
    "a set of tensors",
    """
    def f(x):
        seen = set()
        for part in (x, x, -x):
            seen.add(part)
        return x * len(seen)
    """,
    "script: f cannot be captured: set.add: a set of tensors depends on identity; use a "
    "list (model.py:3)",
    """
    def f(x):
        seen = []
        for part in (x, x, -x):
            seen.append(part)
        return x * len(seen)
    """,
)
cause(
    "whether numbers are one object",
    """
    def f(x):
        n = x.argmax().item()
        return x if n is 0 else -x
    """,
    "script: f cannot be captured: `is`: whether numbers are one object is not part of a "
    "graph; use == (model.py:3)",
    """
    def f(x):
        n = x.argmax().item()
        return x if n == 0 else -x
    """,
)
cause(
    "text of a tensor with a tape",
    """
    def f(x):
        y = x * 2
        print(y)
        return y
    """,
    "script: f cannot be captured: text: how a tensor prints depends on its gradient; "
    "show x.detach() (model.py:3)",
    """
    def f(x):
        y = x * 2
        print(y.detach())
        return y
    """,
    "(tx.ones(2, requires_grad=True),)",
)
cause(
    "text with values, tested",
    """
    def f(x):
        text = f"{x.sum().item():.1f}"
        return x if text.endswith("0") else -x
    """,
    "script: f cannot be captured: .endswith: of text with values that the data decide; "
    "use a tensor (model.py:3)",
    """
    def f(x):
        return x if x.sum().item() == 3 else -x
    """,
)
cause(
    "text joined of what the data decide",
    """
    def f(x):
        return "".join(["a" if v > 1 else "b" for v in x])
    """,
    "script: f cannot be captured: str.join: an argument is known only when the program runs; use tensors (model.py:2)",
    """
    def f(x):
        return x > 1
    """,
)
