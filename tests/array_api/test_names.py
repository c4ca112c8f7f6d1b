"""The namespace has every name of the standard, documented, with the standard's parameters."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import thixo as tx
import thixo.array_api as xp
from thixo.errors import ArgumentError, DeviceError, ValueRangeError

# Version 2024.12 of the standard, by its chapters.
NAMES = {
    "constants": "e inf nan newaxis pi",
    "data types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 "
    "complex128",
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
    "ones ones_like tril triu zeros zeros_like",
    "data type functions": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert "
    "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh "
    "divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan "
    "less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor "
    "maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder "
    "round sign signbit sin sinh sqrt square subtract tan tanh trunc",
    "indexing": "take take_along_axis",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims "
    "repeat reshape roll squeeze stack tile unstack",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utilities": "all any diff",
    "inspection": "__array_namespace_info__",
    "extensions": "fft linalg",
}
LINALG = (
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
    "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
).split()
FFT = (
    "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"
).split()
ALL_NAMES = [name for names in NAMES.values() for name in names.split()]


def test_all_names_are_there_and_no_others():
    assert set(xp.__all__) == {*ALL_NAMES, "VERSIONS"}
    assert set(dir(xp)) == {*ALL_NAMES, "VERSIONS", "__array_api_version__"}
    for name in ALL_NAMES:
        assert hasattr(xp, name), name
    assert set(xp.linalg.__all__) == set(LINALG)
    assert set(xp.fft.__all__) == set(FFT)
    with pytest.raises(AttributeError, match="no attribute 'relu'"):
        _ = xp.relu


def test_versions():
    assert xp.__array_api_version__ == "2024.12"
    x = tx.ones(2)
    assert x.__array_namespace__() is xp
    for version in ("2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(ArgumentError, match=r"version '2021.12' is not served; these are: 2022.12"):
        x.__array_namespace__(api_version="2021.12")


def functions():
    for module, names in ((xp, ALL_NAMES), (xp.linalg, LINALG), (xp.fft, FFT)):
        for name in names:
            if callable(getattr(module, name)) and not isinstance(getattr(module, name), tx.DType):
                yield pytest.param(getattr(module, name), id=f"{module.__name__}.{name}"[16:])


@pytest.mark.parametrize("function", list(functions()))
def test_functions_are_documented_with_an_example(function):
    assert ">>>" in function.__doc__


def test_the_examples_are_true():
    for module in pkgutil.iter_modules(xp.__path__, "thixo.array_api."):
        loaded = importlib.import_module(module.name)
        result = doctest.testmod(loaded, extraglobs={"xp": xp})
        assert result.failed == 0, module.name
    assert doctest.testmod(xp).failed == 0


def test_arrays_come_first_and_by_position():
    for name in ("sum", "argmax", "concat", "linalg.svd", "fft.rfft", "expand_dims"):
        function = xp
        for part in name.split("."):
            function = getattr(function, part)
        first = next(iter(inspect.signature(function).parameters.values()))
        assert first.kind is inspect.Parameter.POSITIONAL_ONLY, name


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {
        "real floating": xp.float32,
        "complex floating": xp.complex64,
        "integral": xp.int64,
        "indexing": xp.int64,
    }
    assert set(info.dtypes()) == set(NAMES["data types"].split())
    assert set(info.dtypes(kind="integral")) == {
        *info.dtypes(kind="signed integer"),
        *info.dtypes(kind="unsigned integer"),
    }
    assert list(info.dtypes(kind=("bool", "complex floating"))) == [
        "bool",
        "complex64",
        "complex128",
    ]
    with pytest.raises(ValueRangeError, match="there is no kind 'text'"):
        info.dtypes(kind="text")
    with pytest.raises(DeviceError):
        info.dtypes(device="tpu")


def test_as_many_axes_as_announced():
    most = xp.__array_namespace_info__().capabilities()["max dimensions"]
    assert xp.ones((1,) * most).ndim == most
