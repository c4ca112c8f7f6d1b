"""Data sets and how to walk through them in batches.

>>> import thixo as tx
>>> pairs = tx.data.TensorDataset(tx.arange(10), tx.arange(10) ** 2)
>>> for x, y in tx.data.DataLoader(pairs, batch_size=4):
...     print(x.tolist(), y.tolist())
[0, 1, 2, 3] [0, 1, 4, 9]
[4, 5, 6, 7] [16, 25, 36, 49]
[8, 9] [64, 81]
"""

from thixo.data.collate import default_collate, default_convert
from thixo.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from thixo.data.loader import DataLoader
from thixo.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from thixo.data.shipped import digits
from thixo.data.workers import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "digits",
    "get_worker_info",
    "random_split",
]
