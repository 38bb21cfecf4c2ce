"""The signer that an option names: a principal, or the key itself by its fingerprint.

A name is compared only with names of its kind. Principals are in the operator's file, and fingerprints follow from keys. But
the person who creates a GPG key chooses its user ID. So a user ID proves nothing: it may look like another fingerprint or
address. SOURCE: ssh-keygen(1) (`SHA256:` and 43 characters of base64; ALLOWED SIGNERS: principals), RFC 4880 and RFC 9580
(fingerprints of 20 and of 32 bytes).
"""

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from reconciler.values.two_sentences import two_sentences

SSH_KEY_PREFIX = "SHA256:"
_SSH_KEY = re.compile(rf"{SSH_KEY_PREFIX}[A-Za-z0-9+/]{{43}}")
_GPG_KEY = re.compile(r"(?:[0-9A-F]{40}|[0-9A-F]{64})")
_HEXADECIMAL = re.compile(r"(?:0X)?[0-9A-F]{8,}")
_NO_PRINCIPAL = re.compile(r"[\s<>,\"#]")


class SignerKind(StrEnum):
    """What a name identifies; the last two are keys."""

    PRINCIPAL = "principal"
    SSH_KEY = "fingerprint of an SSH key"
    GPG_KEY = "fingerprint of a GPG key"


class SignerName(msgspec.Struct, frozen=True, order=True):
    """One name: `value` is whole, and fingerprints of GPG keys are in capitals without spaces."""

    kind: SignerKind
    value: str


class SignerNameError(ValueError):
    """A text is not a valid name; the sentence states why and what to write."""


def signer_names(texts: Iterable[str], *, ssh: bool, gpg: bool) -> frozenset[SignerName]:
    """The names in options. `ssh` and `gpg` tell which key files exist: a name that none of them can match is a mistake. Raises
    `SignerNameError`."""
    names = frozenset(signer_name(text) for text in texts)
    for name in sorted(names):
        if not (gpg if name.kind is SignerKind.GPG_KEY else ssh):
            files = "GPG keys, which are named by their fingerprints" if gpg else "SSH keys"
            raise SignerNameError(f"{name.value!r} is a {name.kind}, and the only keys given are {files}")
    return names


def signer_name(text: str) -> SignerName:
    """One name, told by its form. Raises `SignerNameError` for what is cut short, and for what is a user ID."""
    digits = text.replace(" ", "").upper()
    if _SSH_KEY.fullmatch(text):
        return SignerName(SignerKind.SSH_KEY, text)
    if _GPG_KEY.fullmatch(digits):
        return SignerName(SignerKind.GPG_KEY, digits)
    if text.startswith(SSH_KEY_PREFIX) or _HEXADECIMAL.fullmatch(digits):
        raise SignerNameError(f"incomplete fingerprint {text!r}: write SHA256: and 43 characters, or 40 hexadecimal digits")
    if not text or _NO_PRINCIPAL.search(text):
        hint = "write the principal of --allowed-signers, or a fingerprint: anybody can give a key any user ID"
        raise SignerNameError(two_sentences(f"invalid principal {text!r}", hint))
    return SignerName(SignerKind.PRINCIPAL, text)


def names_of_signature(key: str, primary: str, signer: str) -> frozenset[SignerName]:
    """The names of a good signature, from git's output: fingerprints of key and primary key, and git's name for the signer.

    That is the principal for SSH. For GPG it is the user ID, which counts for nothing.
    """
    if _SSH_KEY.fullmatch(key):
        principal = [SignerName(SignerKind.PRINCIPAL, signer)] if signer else []
        return frozenset([SignerName(SignerKind.SSH_KEY, key), *principal])
    return frozenset(SignerName(SignerKind.GPG_KEY, one) for one in (key, primary) if _GPG_KEY.fullmatch(one))
