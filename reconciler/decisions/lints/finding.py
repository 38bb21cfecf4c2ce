"""One thing that is worth mending."""

import msgspec


class Finding(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """`object` is `Kind name`; `advice` says what to do."""

    code: str
    object: str
    message: str
    advice: str
