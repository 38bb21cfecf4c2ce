"""What the previews of one pull request may take, and the child process that is held to it."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile

import msgspec

from reconciler.cli.processes.preview_child import OUT_OF_MEMORY, OUT_OF_ROOM, PreviewTask
from reconciler.control.previewer import Telling

_MIB = 1 << 20
_KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "CAPI_GROUP", "TMPDIR")
_CHILD = "reconciler.cli.processes.preview_child"
_CHILD_WORDS = 2_000


class PreviewBounds(msgspec.Struct, frozen=True, kw_only=True):
    """For all policies of one pull request together. `seconds` by the wall clock."""

    seconds: float = 120
    memory_bytes: int = 1024 * _MIB
    output_bytes: int = 4 * _MIB


class PreviewTooDearError(Exception):
    """A bound was met; the sentence says which."""


class PreviewChildError(Exception):
    """The child ended in a way that no bound explains; the message has its last words."""


def bounded_tellings(task: PreviewTask, bounds: PreviewBounds) -> list[Telling]:
    """What the child makes of `task`. Raises `PreviewTooDearError` and `PreviewChildError`.

    The child has no environment to speak of, so no token, and files instead of pipes: what it writes is bounded by the kernel.
    """
    environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    command = [sys.executable, "-I", "-m", _CHILD, str(bounds.memory_bytes), str(bounds.output_bytes)]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as made, tempfile.TemporaryFile() as words:
        pickle.dump(task, given, protocol=pickle.HIGHEST_PROTOCOL)
        given.seek(0)
        with subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=given, stdout=made, stderr=words, env=environment, start_new_session=True
        ) as child:
            try:
                code = child.wait(bounds.seconds)
            except subprocess.TimeoutExpired:
                child.kill()
                raise PreviewTooDearError(f"Its preview took more than {bounds.seconds:g} s and was ended.") from None
            except BaseException:
                child.kill()
                raise
        if code in (OUT_OF_MEMORY, -signal.SIGKILL):
            raise PreviewTooDearError(f"Its preview took more than {bounds.memory_bytes // _MIB} MiB of memory and was ended.")
        if code in (OUT_OF_ROOM, -signal.SIGXFSZ):
            raise PreviewTooDearError(f"Its preview is longer than {bounds.output_bytes // _MIB} MiB and was ended.")
        if code != 0:
            words.seek(max(words.seek(0, os.SEEK_END) - _CHILD_WORDS, 0))
            raise PreviewChildError(f"the child ended with {code}: {words.read().decode('utf-8', 'replace')}")
        made.seek(0)
        return msgspec.json.decode(made.read(), type=list[Telling])
