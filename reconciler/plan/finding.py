"""One thing that is worth fixing."""

import msgspec


class Finding(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """`object` is `Kind name`; `advice` says what to do. `nodes` are those of the object that it is about, where not all are."""

    code: str
    object: str
    message: str
    advice: str
    nodes: tuple[str, ...] = ()
