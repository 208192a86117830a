"""Training by pools: machines that learn apart, become one pool of clauses, and go on as that.

``course.py`` says who learns from which rows, when and with what, ``shares.py`` which rows are
whose, ``training.py`` goes that way, wherever its steps are done, and ``local.py`` does them one
after the other on this computer: the definition of what ``cotm.dask`` does on others.
"""

from .local import fit_pools

__all__ = ["fit_pools"]
