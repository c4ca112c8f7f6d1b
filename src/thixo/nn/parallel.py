"""Running one module on several devices; on one device there is nothing to divide."""

from typing import Any

from thixo.device import as_device
from thixo.nn.modules.module import Module


class DataParallel(Module):
    """Splits a batch over devices. All of it runs on the one device there is.

    >>> net = tx.nn.DataParallel(tx.nn.Linear(2, 1))
    >>> net(tx.ones(4, 2)).shape
    Size([4, 1])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        for device in device_ids or ():
            as_device(device)
        self.module = module
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: Any = None,
) -> Any:  # fmt: skip
    """Run a module with its batch split over devices.

    >>> tx.nn.parallel.data_parallel(tx.nn.Identity(), tx.ones(2))
    tensor([1., 1.])
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*args, **(module_kwargs or {}))
