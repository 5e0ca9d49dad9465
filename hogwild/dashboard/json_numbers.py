"""Numbers that JSON can hold."""

import math
from typing import Any


def finite(content: Any) -> Any:
    """The same with nothing in place of what is infinite or not a number: JSON knows neither, nor do browsers.

    >>> finite({"a": [1.0, float("inf")]})
    {'a': [1.0, None]}
    """
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
