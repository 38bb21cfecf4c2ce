"""A module that is imported when the first of its names is asked for."""

import subprocess
import sys

_PROGRAM = """
import sys
from reconciler.values.later import Later
colorsys = Later("colorsys")
before = "colorsys" in sys.modules
first = colorsys.rgb_to_hls
assert vars(colorsys)["rgb_to_hls"] is first is sys.modules["colorsys"].rgb_to_hls
try:
    colorsys.no_such_name
except AttributeError as error:
    print(before, error)
"""


def test_it_is_imported_with_the_first_name() -> None:
    """And not before; a name is looked up once, and one that the module lacks is told as the module tells it."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False module 'colorsys' has no attribute 'no_such_name'"
