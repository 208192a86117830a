"""The data sets of the paper.

Loaders look into the folder ``COTM_DATA`` first, then into the user's cache. What is in neither is
downloaded from where its makers publish it, and checked against a checksum. Downloading needs
``pip install "cotm[data]"``.
"""

from .idx import load_cifar10, load_fashion_mnist, load_kmnist, load_mnist
from .reviews import load_imdb
from .xor import make_noisy_xor_2d

__all__ = [
    "load_cifar10",
    "load_fashion_mnist",
    "load_imdb",
    "load_kmnist",
    "load_mnist",
    "make_noisy_xor_2d",
]
