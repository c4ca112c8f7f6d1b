"""Which file declares which operator. Written by `python -m thixo.ops.build_index`."""

OPERATORS: dict[str, str] = {}
ALIASES: dict[str, str] = {}
INPLACE: dict[str, str] = {}
METHODS: dict[str, str] = {}
