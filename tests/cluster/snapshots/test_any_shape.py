"""A value of another type or form anywhere in a captured object: the snapshot is read, or refused with a sentence and a file."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import SnapshotError, read_snapshot

EXAMPLES = Path(__file__).parents[3] / "examples"
CAPTURES = (EXAMPLES / "quickstart", *sorted(EXAMPLES.glob("*/cluster")))
_DRAWS = 600
_VALUES: tuple[Any, ...] = (
    None, True, 7, -1, 1.5, 2**70, "", "x", "-5", "1e999", "²", "9" * 5000, "2026-13-45T99:00:00Z", [], [None], ["x"],
    [{}], [[]], {},
    {"a": "b"}, {"name": {}}, "\x00",
)  # fmt: skip


def places(value: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        if key != "managedFields":
            yield value, key, f"{path}.{key}"
            yield from places(inner, f"{path}.{key}")


def refused_file(files: dict[str, bytes], case: object) -> str | None:
    try:
        read_snapshot(files)
    except SnapshotError as error:
        return error.file
    except Exception as error:
        raise AssertionError(case) from error
    return None


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.parent.name if path.name == "cluster" else path.name)
def test_any_value_at_any_place(capture: Path) -> None:
    """Two objects of each kind, and one place in all of them: drawn anew at every run."""
    whole = {file.name: json.loads(file.read_bytes()) for file in capture.glob("*.json")}
    for document in whole.values():
        for key, value in document.items():
            if isinstance(value, list):
                document[key] = value[:2]
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    named = sorted(whole)
    refused = 0
    for number in range(_DRAWS):
        name = draw.choice(named)
        copy = deepcopy(whole[name])
        found = list(places(copy))
        holder, key, path = draw.choice(found)
        holder[key] = draw.choice(_VALUES)
        files = {**{one: json.dumps(body).encode() for one, body in whole.items()}, name: json.dumps(copy).encode()}
        case = (seed, number, name, path, holder[key])
        file = refused_file(files, case)
        assert file in (None, name), case
        refused += file is not None
    assert refused > _DRAWS // 20
