"""What this namespace can do, for libraries that ask before they use it."""

from typing import Any

from thixo.array_api.data_types import KINDS
from thixo.device import as_device, available_devices, cpu
from thixo.device import device as Device
from thixo.dtype import ALL, DType, bfloat16, float16, get_default_dtype, int64
from thixo.errors import ValueRangeError

# The dtypes of the standard; Thixo has float16 and bfloat16 besides.
DTYPES: dict[str, DType] = {t.name: t for t in ALL if t not in (float16, bfloat16)}


class Info:
    """Answers about the namespace: dtypes, devices, defaults, capabilities."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """What programs may rely on.

        >>> xp.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where arrays are made.

        >>> xp.__array_namespace_info__().default_device()
        device(type='cpu')
        """
        return cpu

    def devices(self) -> list[Device]:
        """The devices of this machine.

        >>> xp.__array_namespace_info__().devices()
        [device(type='cpu')]
        """
        return [Device(name) for name in available_devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of arrays made without one.

        >>> xp.__array_namespace_info__().default_dtypes()["integral"]
        thixo.int64
        """
        as_device(device)
        floating = get_default_dtype()
        return {
            "real floating": floating,
            "complex floating": floating.to_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes by name, all or those of a kind.

        >>> list(xp.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        as_device(device)
        if kind is None:
            return dict(DTYPES)
        kinds = (kind,) if isinstance(kind, str) else tuple(kind)
        for one in kinds:
            if one not in KINDS:
                raise ValueRangeError(
                    f"dtypes: there is no kind {one!r}; known: {', '.join(KINDS)}"
                )
        return {name: t for name, t in DTYPES.items() if any(t in KINDS[one] for one in kinds)}


def namespace_info() -> Info:
    """An object that answers what the namespace can do.

    >>> xp.__array_namespace_info__().default_device()
    device(type='cpu')
    """
    return Info()
