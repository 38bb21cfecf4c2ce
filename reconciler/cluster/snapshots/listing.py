"""All objects of one kind in a snapshot: one list, sorted by name."""

from typing import Any

import msgspec

Object = dict[str, Any]
encoder = msgspec.json.Encoder(order=None)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The items of one kind. `file` is the name in the snapshot without suffix (`management/machines`). Items have neither
    apiVersion nor kind, as in a typed list of the API. If a cloud prints its items under a key of its own, `list_key` is that
    key."""

    file: str
    api_version: str
    kind: str
    items: list[Object]
    list_key: str = ""

    def encoded(self) -> bytes:
        """The list as JSON, one item per line, so that two captures can be compared line by line."""
        body = b",\n".join(encoder.encode(item) for item in self.items)
        if self.list_key:
            return b"{" + encoder.encode(self.list_key) + b":[\n" + body + b"\n]}\n"
        head = encoder.encode({"apiVersion": self.api_version, "kind": f"{self.kind}List"})
        return head[:-1] + b',"metadata":{},"items":[\n' + body + b"\n]}\n"


def name_of(item: Object) -> tuple[str, str]:
    """Namespace (empty: none) and name."""
    meta = item.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")
