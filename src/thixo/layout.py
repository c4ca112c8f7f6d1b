"""How a tensor's elements lie in memory: names that PyTorch's users pass along."""


class layout:  # noqa: N801  (PyTorch's name)
    """The kind of storage a tensor has.

    >>> strided
    thixo.strided
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return "thixo." + self.name

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):  # noqa: N801  (PyTorch's name)
    """In which order a copy lies in memory: as the source does, or row by row.

    >>> contiguous_format
    thixo.contiguous_format
    """


strided = layout("strided")
preserve_format = memory_format("preserve_format")
contiguous_format = memory_format("contiguous_format")
