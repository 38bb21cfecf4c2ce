"""What stays of Crusoe's answers in a snapshot that leaves the house: what is read of them, with the user's own labels and taints
in the words that the rest of the snapshot has for them.

Names of pools, ids of machines and reservations, types and locations stay, as those of other targets and machines do; so does
what the platform itself says.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms

Object = dict[str, Any]
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def words_of_pool(item: Mapping[str, Any]) -> Iterable[str]:
    """What nodes name of a pool: itself and its machines."""
    yield from (str(item.get("id", "")), str(item.get("name", "")), str(item.get("type", "")))
    yield from map(str, item.get("instance_ids") or ())


def words_of_instance(item: Mapping[str, Any]) -> Iterable[str]:
    """What nodes name of a machine: itself, and where it is."""
    yield from (str(item.get("id", "")), str(item.get("location", "")))


def shown(read: type[msgspec.Struct], item: Mapping[str, Any], words: Pseudonyms) -> Object:
    """One item as `read` decodes it. Raises `msgspec.ValidationError`."""
    found: Object = msgspec.json.decode(msgspec.json.encode(msgspec.json.decode(msgspec.json.encode(item), type=read)))
    if found.get("node_labels"):
        found["node_labels"] = {words.word(key): words.value(key, text) for key, text in found["node_labels"].items()}
    if found.get("node_taints"):
        found["node_taints"] = [
            {**one, "key": words.word(one["key"]), "value": words.value(one["key"], one["value"])} for one in found["node_taints"]
        ]
    if "add_ons" in found:
        found["name"] = words.word(found["name"])
    if "metadata" in found:
        # Whatever else stands there, only the pools and machines that it names are looked for.
        found["metadata"] = {"ids": sorted(set(_ID.findall(str(found["metadata"]))))}
    return {key: value for key, value in found.items() if key != "kind" and value is not None}
