"""What a redacted snapshot keeps of Crusoe's answers: the fields that are read.

The user's own labels and taints get the pseudonyms that the rest of the snapshot uses. Names of pools, ids of machines and
reservations, types and locations stay, like those of other targets and machines. The platform's own texts stay as well.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Hiding
from reconciler.values.decoding import decode

Object = dict[str, Any]
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def words_of_pool(item: Mapping[str, Any]) -> Iterable[str]:
    """What nodes name of a pool: itself and its machines."""
    yield from (str(item.get("id", "")), str(item.get("name", "")), str(item.get("type", "")))
    yield from map(str, item.get("instance_ids") or ())


def words_of_instance(item: Mapping[str, Any]) -> Iterable[str]:
    """What nodes name of a machine: itself, and where it is."""
    yield from (str(item.get("id", "")), str(item.get("location", "")))


def shown(read: type[msgspec.Struct], item: Mapping[str, Any], words: Hiding) -> Object:
    """One item as `read` decodes it. Raises `msgspec.ValidationError`."""
    fields: Object = msgspec.json.decode(msgspec.json.encode(decode(msgspec.json.encode(item), read)))
    if fields.get("node_labels"):
        fields["node_labels"] = {words.word(key): words.value(key, text) for key, text in fields["node_labels"].items()}
    if fields.get("node_taints"):
        fields["node_taints"] = [
            {**one, "key": words.word(one["key"]), "value": words.value(one["key"], one["value"])}
            for one in fields["node_taints"]
        ]
    if "add_ons" in fields:
        fields["name"] = words.word(fields["name"])
    if "metadata" in fields:
        # Only names of pools and machines are looked for, whatever else is there.
        fields["metadata"] = {"ids": sorted(set(_ID.findall(str(fields["metadata"]))))}
    return {key: value for key, value in fields.items() if key != "kind" and value is not None}
