"""How many pods a node takes, where the user data of its launch template or launch configuration says so.

SOURCE: awslabs/amazon-eks-ami: `bootstrap.sh --use-max-pods false --kubelet-extra-args '--max-pods=N'` (Amazon Linux 2, and
`-KubeletExtraArgs` on Windows), and nodeadm's NodeConfig (`spec.kubelet.config.maxPods`, `spec.kubelet.flags`); Bottlerocket's
`settings.kubernetes.max-pods`.
"""

import binascii
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

_MOST_BYTES = 1 << 16
"""AWS takes 16 KiB, which may be compressed."""
_AS_GZIP = 31
_STATED = re.compile(
    r"""--max-pods(?:=|\s+)["']?(\d{1,5})(?!\d)"""
    r"""|\bmaxPods["']?\s*:\s*["']?(\d{1,5})(?!\d)"""
    r"""|(?<!-)\bmax-pods["']?\s*=\s*["']?(\d{1,5})(?!\d)"""
)
_NOT_BY_TYPE = re.compile(r"""--use-max-pods(?:=|\s+)["']?false\b""")
_DEFAULT = 110
"""What kubelet takes where nobody gives it a number."""


def max_pods(texts: Iterable[str | None]) -> int | None:
    """The one number that all of these user data (base64) state; None where one states nothing, or they differ."""
    numbers = {_stated(text) for text in texts}
    return numbers.pop() if len(numbers) == 1 else None


def without_the_rest(text: str) -> str:
    """User data that state as many pods and nothing else; empty where they state none. The rest may hold secrets."""
    stated = _stated(text)
    return "" if stated is None else b64encode(f"--max-pods={stated}".encode()).decode()


def _stated(text: str | None) -> int | None:
    lines = [line for line in _plain(text or "").splitlines() if not line.lstrip().startswith("#")]
    numbers = {int(number) for line in lines for match in _STATED.findall(line) for number in match if number}
    if len(numbers) == 1:
        return numbers.pop()
    return _DEFAULT if not numbers and any(_NOT_BY_TYPE.search(line) for line in lines) else None


def _plain(text: str) -> str:
    """The text; empty where it cannot be read."""
    try:
        data = b64decode(text[: 2 * _MOST_BYTES], validate=True)
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(_AS_GZIP).decompress(data, _MOST_BYTES)
    except (binascii.Error, zlib.error, ValueError):
        return ""
    return data[:_MOST_BYTES].decode("utf-8", "replace")
