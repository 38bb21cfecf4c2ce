"""What became of holds."""

import msgspec

FORMAT_VERSION = "1.0"


class HoldLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group. `state` is Held, Released, Unchanged, Refused or Failed. `before` and `now` are the words of the hold on the
    target (empty: none). `lines` are YAML to write where `message` says, when it was refused."""

    group: str
    target: str
    state: str
    before: str
    now: str
    message: str
    lines: tuple[str, ...]


class HoldDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`complete`: every group is as asked."""

    format_version: str = FORMAT_VERSION
    complete: bool
    groups: tuple[HoldLine, ...]
