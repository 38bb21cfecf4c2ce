"""From the text of a list of pods to a World, in one process."""

import json
from collections.abc import Iterator
from pathlib import Path

from reconciler.cluster.snapshots.snapshot import read_snapshot
from tests.benchmarks.measure import Case

PODS = 50_000
_PODS = Path(__file__).parents[3] / "examples" / "quickstart" / "pods.json"
_NAME, _UID, _CREATED = "@name@", "@uid@", "@created@"


def cases() -> Iterator[Case]:
    """The pods of the quickstart as an API server lists them, without managed fields, each many times under other names."""
    forms = [_form(item) for item in json.loads(_PODS.read_text())["items"]]
    items = b",".join(_pod(forms[number % len(forms)], number) for number in range(PODS))
    files = {"pods.json": b'{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [%s]}' % items}

    def run() -> int:
        found = len(read_snapshot(files).pods)
        if found != PODS:
            raise RuntimeError(f"{found} of {PODS} pods were read")
        return found

    yield Case("read a snapshot of 50,000 pods", run)


def _form(item: dict[str, dict[str, object]]) -> str:
    item["metadata"].pop("managedFields", None)
    item["metadata"] |= {"name": _NAME, "uid": _UID, "creationTimestamp": _CREATED}
    return json.dumps(item)


def _pod(form: str, number: int) -> bytes:
    created = f"2026-11-{number % 20 + 1:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    text = form.replace(_NAME, f"pod-{number:05}").replace(_CREATED, created)
    return text.replace(_UID, f"00000000-0000-0000-0000-{number:012}").encode()
