"""Is a file signed by somebody who may sign? With SSH keys, as `ssh-keygen -Y sign` signs files.

Keys come from the operator's file, and count as they are when the file is seen. SOURCE: ssh-keygen(1): `-Y find-principals` names
those whose key made a signature, one a line. `-Y verify` reads the file from its standard input. The namespace is for what a
signature is, so that one for another purpose does not count.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reconciler.gitops.git.fault import FaultCode, failed
from reconciler.gitops.git.signer_keys import KEPT, key_files, local_time

MOST_SIGNATURE_BYTES = 64 << 10
_SECONDS = 30


def file_signer(data: bytes, signature: bytes, allowed_signers_file: Path, namespace: str, seen_seconds: int) -> str:
    """The principal whose key signed `data`; `seen_seconds` (Unix time) is when it was seen. Raises `SourceError` with
    SignatureRefused if no such principal is allowed, or if the data differ from those that were signed."""
    keys = key_files(allowed_signers_file, None)
    with tempfile.TemporaryDirectory(prefix="reconciler-keys-") as home:
        allowed, signed = Path(home, "allowed_signers"), Path(home, "signature")
        allowed.write_bytes(keys.allowed_signers or b"")
        signed.write_bytes(signature)
        known = ["-f", str(allowed), "-s", str(signed), f"-Overify-time={local_time(seen_seconds)}"]
        principals = _run(home, ["-Y", "find-principals", *known], b"")
        for principal in (principals or "").splitlines():
            if _run(home, ["-Y", "verify", *known, "-I", principal, "-n", namespace], data) is not None:
                return principal
    if principals is None:
        why = "it is not an SSH signature, or its key is not among the allowed signers, or no longer is"
    else:
        why = f"the file differs from the signed one, or the signature is not for {namespace!r}"
    raise failed(FaultCode.SIGNATURE_REFUSED, f"the signature is not valid: {why}")


def _run(home: str, words: Sequence[str], given: bytes) -> str | None:
    """What ssh-keygen printed; None if it refuses. Raises `SourceError`."""
    # Instants without a zone in the signers' file are local times.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home}
    environment |= {name: os.environ[name] for name in KEPT if name in os.environ}
    command = ["ssh-keygen", *words]
    try:
        done = subprocess.run(  # noqa: S603 - our words, and a principal as the value of an option
            command, input=given, capture_output=True, timeout=_SECONDS, env=environment, cwd="/", check=False
        )
    except subprocess.TimeoutExpired:
        raise failed(FaultCode.SIGNATURE_REFUSED, f"ssh-keygen gave no answer within {_SECONDS} s") from None
    except OSError as error:
        why = f"cannot run ssh-keygen to check the signature: {error.strerror or error}"
        raise failed(FaultCode.SIGNATURE_REFUSED, why, "install the client of OpenSSH") from None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")
