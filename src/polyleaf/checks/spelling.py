"""What a mistyped name may have been meant to be."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Suggest the nearest known name, for the end of an error message.

    Upper and lower case count as equal. The sentence begins with a blank; it is empty where no
    name is near, or where what was given is no text.

    Examples
    --------
    >>> did_you_mean("Gausian", ["gaussian", "hadamard"])
    " Did you mean 'gaussian'?"
    >>> did_you_mean("tree", ["gaussian", "hadamard"])
    ''
    """
    if not isinstance(name, str):
        return ""
    spelt = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), spelt, n=1)
    return f" Did you mean {spelt[near[0]]!r}?" if near else ""
