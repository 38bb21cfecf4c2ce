"""One archive, unpacked in a process of its own: `python -m reconciler.gitops.sources.archive_child`."""

import sys

import msgspec

from reconciler.gitops.child_answer import answer
from reconciler.gitops.git.tree_listing import TreeProblem
from reconciler.gitops.sources.archive import ArchiveError, Unpacked, unpacked
from reconciler.policy.neighbours import UnreadFile


class ArchiveTask(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `unpacked`."""

    archive: bytes
    root: str


class ArchiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result, or why there is none (`error`). Names in an archive are arbitrary bytes, and so are texts with such names.
    `problems` are their parts in order."""

    files: dict[bytes, bytes] = {}
    problems: tuple[tuple[bytes, bytes, bytes, bytes], ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    exists: bool = False
    error: bytes | None = None

    def unpacked(self) -> Unpacked:
        """The result of `unpacked`. Raises `ArchiveError`."""
        if self.error is not None:
            raise ArchiveError(_text(self.error))
        problems = (tuple(map(_text, parts)) for parts in self.problems)
        return Unpacked(
            files={_text(path): data for path, data in self.files.items()},
            problems=tuple(
                TreeProblem(path=path, code=code, message=message, hint=hint) for path, code, message, hint in problems
            ),
            unread=self.unread,
            exists=self.exists,
        )


def made(task: ArchiveTask) -> bytes:
    """The answer, as msgpack."""
    try:
        tree = unpacked(task.archive, task.root)
    except ArchiveError as error:
        return msgspec.msgpack.encode(ArchiveAnswer(error=_bytes(str(error))))
    reply = ArchiveAnswer(
        files={_bytes(path): data for path, data in tree.files.items()},
        problems=tuple((_bytes(one.path), _bytes(one.code), _bytes(one.message), _bytes(one.hint)) for one in tree.problems),
        unread=tree.unread,
        exists=tree.exists,
    )
    return msgspec.msgpack.encode(reply)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], made))
