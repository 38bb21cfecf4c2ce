"""Where a value was written: file, line, column; printed `path:line:column`."""

import msgspec


class Place(msgspec.Struct, frozen=True, order=True):
    """A position in a policy text. Lines and columns count from 1; the path is relative to the policy root, with `/`."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
