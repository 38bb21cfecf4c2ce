"""The place of a value: `path:line:column` in a file, or the field of an object on an API server."""

import msgspec


class Place(msgspec.Struct, frozen=True, order=True):
    """A position in a policy text. Lines and columns count from 1; the path is relative to the policy root, with `/`.

    Of a custom resource, line and column are 0 and the path is `NodeGroup ns/name spec.size.min`.
    """

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path
