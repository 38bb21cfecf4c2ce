"""A process that a killed test left behind is ended too."""

import os
import subprocess
import sys

import pytest

_LEAVES_ONE = """
import subprocess, sys
from tests.mutants.orphans import adopt_orphans, end_children
adopt_orphans()
started = (
    "import subprocess;"
    "print(subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=subprocess.DEVNULL).pid, flush=True)"
)
left = int(subprocess.run([sys.executable, "-c", started], stdout=subprocess.PIPE, text=True, check=True).stdout)
end_children()
print(left)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux alone")
def test_an_orphan_in_a_session_of_its_own_is_ended() -> None:
    """`sleep` is the grandchild of a process of which nothing is left."""
    done = subprocess.run([sys.executable, "-c", _LEAVES_ONE], stdout=subprocess.PIPE, text=True, check=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
