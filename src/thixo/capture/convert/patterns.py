"""Where the patterns of a match statement compare values: a description that is asked of the subject at run time."""

import ast
from typing import Any


def compared(pattern: ast.pattern | None) -> Any:
    """None where a pattern compares nothing; else what it takes apart, and what is compared there.

    >>> tree = ast.parse("match s:\\n case (0, h): pass")
    >>> compared(tree.body[0].cases[0].pattern)
    ('sequence', (('literal', 0), None), None)
    """
    if isinstance(pattern, ast.MatchValue):
        known = isinstance(pattern.value, ast.Constant)
        return ("literal", pattern.value.value) if known else "value"  # type: ignore[attr-defined]
    if isinstance(pattern, ast.MatchSingleton):
        return "object"  # None, True or False, and no equal ones
    if isinstance(pattern, ast.MatchAs):
        return compared(pattern.pattern)
    if isinstance(pattern, ast.MatchOr):
        return _if_any("either", [compared(p) for p in pattern.patterns])
    if isinstance(pattern, ast.MatchSequence):
        parts = pattern.patterns
        star = next((i for i, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
        return _if_any("sequence", [compared(p) for p in parts], star)
    if isinstance(pattern, ast.MatchMapping):
        if not all(isinstance(k, ast.Constant) for k in pattern.keys):
            return "value"
        found = _if_any("mapping", [compared(p) for p in pattern.patterns])
        return found and (*found, tuple(k.value for k in pattern.keys))  # type: ignore[attr-defined]
    if isinstance(pattern, ast.MatchClass):
        inner = [compared(p) for p in (*pattern.patterns, *pattern.kwd_patterns)]
        return "value" if any(inner) else None
    return None


def _if_any(kind: str, parts: list[Any], *more: Any) -> Any:
    return (kind, tuple(parts), *more) if any(parts) else None
