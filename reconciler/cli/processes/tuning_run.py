"""A search on several processes or machines. What is finished is kept in a file, so an interrupted search goes on where it was.

On several machines, each takes a part of what the search asks for. It keeps that in its own file, in a directory that they share.
A search that asks for what another machine has not finished ends there, and goes on when it is run again.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import msgspec

from reconciler import __version__
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world_digest import whole_digest
from reconciler.plan.tuning import DemandFigures
from reconciler.simulation.tuning.search import Asked, Evaluate
from reconciler.simulation.tuning.variant import CouldNotGrowError, Past, figures_in
from reconciler.values.decoding import decode

LARGEST_FILE_BYTES = 64 << 20
_SUFFIX = ".jsonl"
_LOCAL = f"local{_SUFFIX}"
_PAST: list[Past] = []
"""The task of a worker process, set when it starts."""


class Finished(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the file: the figures of one policy in one period. `key` stands for everything that they depend on."""

    key: str
    figures: DemandFigures


class Part(msgspec.Struct, frozen=True):
    """Which of `count` machines this one is, from 0 on."""

    index: int
    count: int

    @property
    def file_name(self) -> str:
        """Where its trials are kept."""
        return f"part-{self.index}-of-{self.count}{_SUFFIX}"


class OthersMissingError(Exception):
    """Other parts have not finished what the search asks for next."""


class FinishedTrials:
    """What earlier runs came to. Lines are only added; the last one may be torn, and is then made again.

    Of a directory, all files are read, and lines are added to that of `part`. A torn line of another file may be in the making.
    """

    def __init__(self, path: Path | None, past: Past, part: Part | None = None) -> None:
        """Raises `InputError` for a file that is something else."""
        self._shared = path if path is not None and (part is not None or path.is_dir()) else None
        own = _LOCAL if part is None else part.file_name
        self._path = path if self._shared is None else self._shared / own
        self._of = _digest(past)
        self.known: dict[str, DemandFigures] = {}
        if self._shared is not None:
            try:
                self._shared.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"--resume {self._shared}: {error.strerror or error}") from None
        if self._path is not None and self._path.exists():
            self._read(self._path, own=True)
        self.read_others()

    def read_others(self) -> None:
        """What other parts have finished by now."""
        for file in sorted(self._shared.glob(f"*{_SUFFIX}")) if self._shared is not None else ():
            if file != self._path:
                self._read(file, own=False)

    def _read(self, path: Path, *, own: bool) -> None:
        number = 0
        try:
            if path.stat().st_size > LARGEST_FILE_BYTES:
                raise InputError(f"--resume {path}: larger than {LARGEST_FILE_BYTES >> 20} MiB. Name another file")
            data = path.read_bytes()
            whole = data.rpartition(b"\n")[0]
            for line in whole.splitlines():
                number += 1
                one = decode(line, Finished)
                self.known[one.key] = one.figures
            if own and len(whole) + 1 < len(data):
                os.truncate(path, len(whole) + 1 if whole else 0)
        except OSError as error:
            raise InputError(f"--resume {path}: {error.strerror or error}") from None
        except msgspec.MsgspecError:
            raise InputError(f"--resume {path}:{number}:1: not a file of finished trials. Name another file") from None

    def key(self, asked: Asked) -> str:
        """Of one policy in one period."""
        return hashlib.sha256(self._of.encode() + msgspec.json.encode(asked)).hexdigest()

    def add(self, key: str, figures: DemandFigures) -> None:
        """Keep what is finished."""
        self.known[key] = figures
        if self._path is None:
            return
        try:
            with self._path.open("ab") as stream:
                stream.write(msgspec.json.encode(Finished(key=key, figures=figures)) + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise InputError(f"--resume {self._path}: {error.strerror or error}") from None


def _digest(past: Past) -> str:
    """Over everything that the figures depend on. Equal in each process, in whatever order it keeps its sets."""
    world = None if past.world is None else whole_digest(past.world)
    parts = (__version__, past.files, past.name, past.trace, world, past.join_seconds)
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


@contextmanager
def evaluating(past: Past, workers: int, finished: FinishedTrials, done: Callable[[int], None]) -> Iterator[Evaluate]:
    """Replays on several processes, or in this one. The figures do not depend on it. `done` gets the number of finished ones.
    Evaluating raises `InputError`."""
    if workers == 1:

        def here(asked: Sequence[Asked]) -> Sequence[DemandFigures]:
            for one in asked:
                key = finished.key(one)
                if key not in finished.known:
                    finished.add(key, _figures(past, one))
                done(len(finished.known))
            return [finished.known[finished.key(one)] for one in asked]

        yield here
        return
    # A forked process would inherit locks that other threads hold. A spawned one starts clean.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (past,))

    def there(asked: Sequence[Asked]) -> Sequence[DemandFigures]:
        missing = {key: one for one in asked if (key := finished.key(one)) not in finished.known}
        running = {pool.submit(_work, one): key for key, one in missing.items()}
        try:
            for future in as_completed(running):
                finished.add(running[future], future.result())
                done(len(finished.known))
        except BrokenProcessPool:
            raise InputError("a worker ended: there may be too little memory. Run with --workers 1") from None
        return [finished.known[finished.key(one)] for one in asked]

    try:
        yield there
    finally:
        pool.shutdown(cancel_futures=True)


def of_part(part: Part, finished: FinishedTrials, evaluate: Evaluate) -> Evaluate:
    """Replays a part of what is asked for. Evaluating raises `OthersMissingError` while others have not finished theirs."""

    def evaluated(asked: Sequence[Asked]) -> Sequence[DemandFigures]:
        evaluate([one for position, one in enumerate(asked) if position % part.count == part.index])
        finished.read_others()
        if any(finished.key(one) not in finished.known for one in asked):
            raise OthersMissingError
        return [finished.known[finished.key(one)] for one in asked]

    return evaluated


def _begin(past: Past) -> None:
    _PAST[:] = [past]


def _work(asked: Asked) -> DemandFigures:
    return _figures(_PAST[0], asked)


def _figures(past: Past, asked: Asked) -> DemandFigures:
    try:
        return figures_in(past, *asked)
    except CouldNotGrowError as error:
        raise InputError(f"{past.name}: {error}: take the holds away, or write spec.template") from None
