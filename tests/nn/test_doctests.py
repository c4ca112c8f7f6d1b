"""Every public class and function shows an example, and every example runs."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import thixo as tx
from thixo import nn, optim


def modules():
    for package in (nn, optim):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples_run(name):
    tx.manual_seed(0)
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"tx": tx})
    assert result.failed == 0


@pytest.mark.parametrize(
    "namespace", [nn, optim, optim.lr_scheduler, nn.utils], ids=lambda n: n.__name__
)
def test_public_names_have_examples(namespace):
    for name in namespace.__all__:
        value = getattr(namespace, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            hidden = value in (nn.RNNBase, nn.RNNCellBase)
            assert hidden or ">>>" in (value.__doc__ or ""), f"{name} shows no example"
