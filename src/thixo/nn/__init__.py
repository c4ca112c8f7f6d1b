"""Building networks: modules, their parameters and the functions beneath them."""

from thixo.nn import functional as functional
