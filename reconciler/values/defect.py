"""Where a defect of the product is: what it says of itself when it has failed on something that somebody wrote."""

import re
from typing import TYPE_CHECKING

from reconciler.values.later import Later

if TYPE_CHECKING:
    import traceback
else:
    traceback = Later("traceback")

_INSIDE = re.compile(r".*[/\\]reconciler[/\\](.*)")
"""The path of a file inside the package; where that is installed is nobody's business."""


def defect_text(error: Exception) -> str:
    """`a defect of reconciler (RecursionError at scheduling/devices/selectors.py:511)`."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        inside = _INSIDE.fullmatch(frame.filename)
        if inside is not None:
            return f"a defect of reconciler ({type(error).__name__} at {inside[1]}:{frame.lineno})"
    return f"a defect of reconciler ({type(error).__name__})"
