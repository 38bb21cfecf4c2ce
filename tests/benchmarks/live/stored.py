"""Objects as etcd keeps them, and copies of them under other names, written without asking the API server.

A server that checks, defaults and stores 30,000 pods one by one, and kwok that starts them, take many minutes; etcd takes the
same bytes in seconds. So they make one object of each kind, and the others are its bytes with other words in their places. A
word is replaced by one of the same length, because the stored form (protobuf) says the length of a text in front of it.
"""

import base64
import http.client
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from random import Random
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

# etcd refuses a transaction of more than 128 operations or 1.5 MiB.
_OF_ONE_TRANSACTION = 100
_UID_BITS = 128


class Etcd:
    """The JSON gateway of one etcd, at `http://host:port`. Raises RuntimeError with its answer when it refuses."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc

    def value(self, key: str) -> bytes:
        """What is stored under a key."""
        with closing(http.client.HTTPConnection(self._address)) as connection:
            found = _asked(connection, "/v3/kv/range", {"key": _encoded(key.encode())}).get("kvs", ())
        if not found:
            raise KeyError(key)
        return base64.b64decode(found[0]["value"])

    def put(self, values: Iterable[tuple[str, bytes]]) -> None:
        """Store values under their keys, many in one revision. Nobody may watch meanwhile: a watch goes on after a revision, so
        that one which broke off inside of one never hears of the rest."""
        left = iter(values)
        with closing(http.client.HTTPConnection(self._address)) as connection:
            while part := tuple(itertools.islice(left, _OF_ONE_TRANSACTION)):
                puts = [{"requestPut": {"key": _encoded(key.encode()), "value": _encoded(value)}} for key, value in part]
                _asked(connection, "/v3/kv/txn", {"success": puts})


def copied(value: bytes, words: Mapping[str, str]) -> bytes:
    """A stored object with other words. Raises ValueError for one that it does not hold, or of another length."""
    for old, new in words.items():
        if len(old.encode()) != len(new.encode()):
            raise ValueError(f"{new!r} is not as long as {old!r}")
        if old.encode() not in value:
            raise ValueError(f"{old!r} is not in what is stored")
        value = value.replace(old.encode(), new.encode())
    return value


def uids(seed: str) -> Iterator[str]:
    """Random uids, the same ones for the same seed."""
    random = Random(seed)
    while True:
        yield str(UUID(int=random.getrandbits(_UID_BITS), version=4))


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _asked(connection: http.client.HTTPConnection, path: str, body: object) -> Any:
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    text = response.read()
    if response.status != http.HTTPStatus.OK:
        raise RuntimeError(f"etcd: {response.status}: {text[:500].decode(errors='replace')}")
    return json.loads(text)
