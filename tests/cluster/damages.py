"""Damaged copies of a snapshot, by seed: what disks, people and half-finished captures do to files."""

import json
import random
from collections.abc import Callable
from typing import Any

Files = dict[str, bytes]
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3.5,
    2**70,
    "",
    "x",
    "-5",
    "1e999",
    "NaN",
    [],
    ["x"],
    {},
    {"a": "b"},
    "2026-13-45T99:00:00Z",
)


def damaged(files: Files, seed: int) -> tuple[str, Files]:
    """What was done, and the files after it."""
    choice = random.Random(seed)
    result = dict(files)
    kind = choice.choice(tuple(_WAYS))
    named = [name for name, body in sorted(result.items()) if kind != "break a quantity" or b'"cpu"' in body]
    name = choice.choice(named or sorted(result))
    result[name] = _WAYS[kind](choice, result[name])
    return f"{kind} {name}", result


def _truncated(choice: random.Random, body: bytes) -> bytes:
    return body[: choice.randrange(len(body))]


def _flipped(choice: random.Random, body: bytes) -> bytes:
    at = choice.randrange(len(body))
    return body[:at] + bytes([choice.randrange(256)]) + body[at + 1 :]


def _cut_out(choice: random.Random, body: bytes) -> bytes:
    start = choice.randrange(len(body))
    return body[:start] + body[start + choice.randrange(1, 200) :]


def _changed(change: Callable[[random.Random, Any, Any], None]) -> Callable[[random.Random, bytes], bytes]:
    """Apply `change` to a container and one of its keys, chosen among all of the document."""

    def apply(choice: random.Random, body: bytes) -> bytes:
        document = json.loads(body)
        # By chance alone most damage would hit the four keys of the list itself, or its field managers.
        inside = isinstance(document, dict) and document.get("items") and choice.random() < 0.9
        at, depth = document["items"] if inside else document, choice.randrange(1, 9)
        while True:
            keys = [key for key in at if key != "managedFields"] if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = choice.choice(keys)
            if depth == 0 or not isinstance(at[key], dict | list) or not at[key]:
                change(choice, at, key)
                break
            at, depth = at[key], depth - 1
        return json.dumps(document).encode()

    return apply


def _delete(_: random.Random, at: Any, key: Any) -> None:
    del at[key]


def _retype(choice: random.Random, at: Any, key: Any) -> None:
    at[key] = choice.choice(VALUES)


def _repeat(_: random.Random, at: Any, key: Any) -> None:
    if isinstance(at, list):
        at.append(at[key])
    else:
        at[f"{key}x"] = at[key]


def _quantity(choice: random.Random, body: bytes) -> bytes:
    text = body.decode()
    places = [at for at in range(len(text)) if text.startswith('"cpu"', at) or text.startswith('"memory"', at)]
    if not places:
        return _truncated(choice, body)
    at = choice.choice(places)
    end = text.index('"', at + 1) + 1
    colon = text.index(":", end)
    rest = text.index('"', text.index('"', colon) + 1) + 1
    return (text[: colon + 1] + json.dumps(choice.choice(VALUES)) + text[rest:]).encode()


def _kind(choice: random.Random, body: bytes) -> bytes:
    document = json.loads(body)
    document["kind"] = choice.choice(
        ("PodList", "NodeList", "List", "MachineList", "Pod", "PersistentVolumeList", "DaemonSetList")
    )
    if choice.random() < 0.5:
        document["apiVersion"] = choice.choice(("v1", "apps/v1", "cluster.x-k8s.io/v1beta2", "", "a/b/c"))
    return json.dumps(document).encode()


_WAYS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "truncate": _truncated,
    "flip a byte": _flipped,
    "cut out": _cut_out,
    "delete a key": _changed(_delete),
    "change a type": _changed(_retype),
    "repeat": _changed(_repeat),
    "break a quantity": _quantity,
    "swap the kind": _kind,
}
