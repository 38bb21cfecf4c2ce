"""Pods that are read apart from the others of their list, in another process. Only sound ones: the reader reports any fault."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.newest_instant import Newest
from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire.pod_decoding import PodDecoder


class PodsApart(msgspec.Struct, frozen=True):
    """The rows of some pods, with sources from 0. `newest_seconds` is the newest instant in them, 0 if nobody asked for it."""

    rows: PodRows
    newest_seconds: int


def pods_apart(items: Sequence[Raw], *, stamps: bool) -> PodsApart:
    """Read pods. Raises whatever reading raises, since nobody reports it from here."""
    rows, newest, decoder = PodRows(), Newest(), PodDecoder()
    for index, raw in enumerate(items):
        pod = decoder.decode(raw)
        if pod.kind not in ("", "Pod"):
            raise UnreadableError(f"its kind is {pod.kind} in a list of pods")
        rows.add(pod, index)
        if stamps:
            newest.see(raw)
    return PodsApart(rows, newest.seconds)
