"""Optimizers, and schedules for their learning rates."""

from thixo.optim import lr_scheduler
from thixo.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from thixo.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from thixo.optim.lbfgs import LBFGS
from thixo.optim.optimizer import Optimizer
from thixo.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
