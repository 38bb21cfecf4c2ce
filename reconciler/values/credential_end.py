"""When credentials end: certificates in PEM, and JSON web tokens. Nothing here tells whether a credential is genuine.

SOURCES:

- RFC 5280, 4.1: the order of the fields of a certificate, and how both kinds of time are written
- X.690, 8.1.3 and 10.1: lengths in DER
- RFC 7468: PEM
- RFC 7519, 4.1.4: `exp`
"""

import base64
import binascii
import re
from collections.abc import Iterator

import msgspec

from reconciler.values.decoding import decode
from reconciler.values.instant import parse_instant

LARGEST_BYTES = 1 << 20
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_INTEGER, _SEQUENCE, _UTC_TIME, _GENERALIZED_TIME, _VERSION = 0x02, 0x30, 0x17, 0x18, 0xA0
_TIME = re.compile(rb"([0-9]{2,4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})Z")
_LONG_FORM, _LONGEST_LENGTH = 0x80, 4
_LAST_INSTANT = 253_402_300_799  # 9999-12-31T23:59:59Z


class CertificateTextError(ValueError):
    """A text that holds no certificate that can be read. The message quotes nothing of it."""


def certificate_ends(pem: bytes) -> tuple[int, ...]:
    """The last second (Unix time) of each certificate in a PEM text, in its order; one or more. Raises `CertificateTextError`."""
    if len(pem) > LARGEST_BYTES:
        raise CertificateTextError(f"it has {len(pem)} bytes, more than the limit of {LARGEST_BYTES}")
    blocks = _BLOCK.findall(pem)
    if not blocks:
        raise CertificateTextError("there is no certificate in PEM form in it")
    return tuple(_end(block) for block in blocks)


def _end(block: bytes) -> int:
    try:
        der = base64.b64decode(b"".join(block.split()), validate=True)
    except (binascii.Error, ValueError):
        raise CertificateTextError("a certificate in it is not base64") from None
    try:
        return _not_after(der)
    except (ValueError, IndexError):
        raise CertificateTextError("a certificate in it is damaged") from None


def _not_after(der: bytes) -> int:
    ((tag, certificate),) = _elements(der) if der else ((0, b""),)
    fields = list(_elements(_of(_SEQUENCE, tag, certificate)))
    body = iter(_elements(_of(_SEQUENCE, *fields[0])))
    tag, content = next(body, (0, b""))
    if tag == _VERSION:
        tag, content = next(body, (0, b""))
    _of(_INTEGER, tag, content)
    for _ in ("signature", "issuer"):
        _of(_SEQUENCE, *next(body, (0, b"")))
    times = list(_elements(_of(_SEQUENCE, *next(body, (0, b"")))))
    if len(times) != 2:
        raise CertificateTextError("validity")
    _instant(*times[0])
    return _instant(*times[1])


def _of(wanted: int, tag: int, content: bytes) -> bytes:
    if tag != wanted:
        raise CertificateTextError("tag")
    return content


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each element, one after the other up to the end of the data. Raises `CertificateTextError`."""
    at = 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        if length >= _LONG_FORM:
            size = length - _LONG_FORM
            written = data[at : at + size]
            length, at = int.from_bytes(written), at + size
            # DER has one way to write a length, the shortest one. Its first bytes are never missing (the indefinite form).
            if not 1 <= size <= _LONGEST_LENGTH or len(written) != size or not written[0] or length < _LONG_FORM:
                raise CertificateTextError("length")
        if at + length > len(data):
            raise CertificateTextError("length")
        yield tag, data[at : at + length]
        at += length


def _instant(tag: int, content: bytes) -> int:
    match = _TIME.fullmatch(content)
    digits = {_UTC_TIME: 2, _GENERALIZED_TIME: 4}.get(tag)
    if match is None or len(match[1]) != digits:
        raise CertificateTextError("time")
    year, month, day, hour, minute, second = (part.decode() for part in match.groups())
    if tag == _UTC_TIME:
        year = f"{'19' if year >= '50' else '20'}{year}"
    return parse_instant(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


class TokenTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What a token says of itself, in Unix seconds: when it was issued (0: not said), and when it ends."""

    issued_seconds: int = 0
    end_seconds: int


class _Claims(msgspec.Struct):
    exp: float
    iat: float = 0


def token_times(token: str) -> TokenTimes | None:
    """None for any other kind of token, and for one without an end, such as that of a Secret of a service account."""
    parts = token.strip().split(".")
    if len(parts) != 3 or len(token) > LARGEST_BYTES:
        return None
    try:
        claims = decode(base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True), _Claims)
    except (binascii.Error, ValueError, RecursionError):
        return None
    # A number that is no instant is not read: NaN compares with nothing.
    issued, end = (int(value) if 0 <= value <= _LAST_INSTANT else 0 for value in (claims.iat, claims.exp))
    return TokenTimes(issued_seconds=issued, end_seconds=end) if end else None
