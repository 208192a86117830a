"""Documentation that two classes share, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_PARAMETERS, _SEE_ALSO = "Parameters\n----------\n", "See Also\n--------\n"


def with_documentation_of(other: type) -> Callable[[_Class], _Class]:
    """Complete a docstring with the parameters and attributes that another class documents.

    The class documents one parameter, which the other lacks. It is shown where it stands in the
    signature.
    """

    def decorate(kind: _Class) -> _Class:
        if kind.__doc__ and other.__doc__:  # python -OO leaves out both
            head, rest = inspect.cleandoc(kind.__doc__).split(_PARAMETERS)
            own, end = rest.split(_SEE_ALSO)
            _, shared = inspect.cleandoc(other.__doc__).split(_PARAMETERS)
            shared, _ = shared.split(_SEE_ALSO)
            names = [*inspect.signature(kind).parameters]
            following = names[names.index(own.split()[0]) + 1]
            before, after = shared.split(f"\n{following} : ")
            entries = f"{before}\n{own.strip()}\n{following} : {after}"
            kind.__doc__ = f"{head}{_PARAMETERS}{entries}{_SEE_ALSO}{end}"
        return kind

    return decorate
