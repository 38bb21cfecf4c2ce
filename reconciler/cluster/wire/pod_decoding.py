"""Pods, also those with fields that are newer than the product."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.pod import Pod, SchedulingGroup, WholePodSpec
from reconciler.values.decoding import decoder

_KNOWN = frozenset(WholePodSpec.__struct_encode_fields__) - {"/"}
_ABSENT = (b"null", b"[]", b"{}")
_MOST_NAMED, _LONGEST_NAME = 4, 63
_GROUP = "schedulingGroup"
_strict, _parts, _group = decoder(Pod), decoder(dict[str, Raw]), decoder(SchedulingGroup)


class PodDecoder:
    """Decodes pods as `decoder(Pod)` does. A pod with an unknown field of `spec`, or with a group in an unknown form, is
    decoded without it, and names it."""

    type = Pod

    def decode(self, body: Raw | bytes) -> Pod:
        """Raises `msgspec.DecodeError` and its `ValidationError`."""
        try:
            return _strict.decode(body)
        except msgspec.ValidationError:
            whole = _parts.decode(body)
            spec = _parts.decode(whole.get("spec", b"{}"))
            unknown = spec.keys() - _KNOWN | ({_GROUP} if _names_no_group(spec) else set())
            if not unknown:
                raise
            # An empty field says nothing.
            named = sorted(name[:_LONGEST_NAME] for name in unknown if bytes(spec[name]) not in _ABSENT)[:_MOST_NAMED]
            known = {name: part for name, part in spec.items() if name not in unknown} | {"/": Raw(msgspec.json.encode(named))}
            return _strict.decode(msgspec.json.encode(whole | {"spec": Raw(msgspec.json.encode(known))}))


def _names_no_group(spec: dict[str, Raw]) -> bool:
    """Whether the pod is in a group of another form than is known here."""
    part = bytes(spec.get(_GROUP, b"null"))
    if part == b"null":
        return False
    try:
        _group.decode(part)
    except msgspec.ValidationError:
        return True
    return False
