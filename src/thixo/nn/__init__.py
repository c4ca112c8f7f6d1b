"""Building networks: modules with parameters, the functions beneath them, initialisation, utilities."""

from thixo.nn import attention, functional, init, modules, parallel, parameter, utils
from thixo.nn.modules import *  # noqa: F403
from thixo.nn.parallel import DataParallel
from thixo.nn.parameter import Buffer, Parameter

__all__ = [
    *modules.__all__,
    "Buffer",
    "DataParallel",
    "Parameter",
    "attention",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
