"""When certificates and tokens end, against what OpenSSL and Python's ssl module read in the same bytes."""

import base64
import random
import ssl
import subprocess
from pathlib import Path

import certifi
import pytest

from reconciler.values.credential_end import CertificateTextError, TokenTimes, certificate_ends, token_times
from tests.certificates import EC, ending, made, token


@pytest.mark.parametrize("words", [
    (*EC, "-days", "365"),
    ("-newkey", "rsa:2048", "-days", "10"),
    (*EC, "-days", "20000"),  # after 2049, and so in the other form of time
    (*EC, "-days", "30", "-addext", f"subjectAltName=DNS:{'x' * 60}.example,URI:https://{'y' * 900}.example"),
])  # fmt: skip
def test_the_end_is_what_openssl_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = made(tmp_path, *words)
    assert certificate_ends(file.read_bytes()) == (ending(file),)


def test_a_certificate_without_a_version(tmp_path: Path) -> None:
    """OpenSSL makes one of version 1, which has no field for it, where there are no extensions."""
    request, file = tmp_path / "request.pem", tmp_path / "one.pem"
    key = tmp_path / "key.pem"
    words = ["openssl", "req", "-new", *EC, "-nodes", "-subj", "/CN=a", "-keyout", str(key), "-out", str(request)]
    subprocess.run(words, check=True, capture_output=True)
    words = ["openssl", "x509", "-req", "-in", str(request), "-signkey", str(key), "-days", "7", "-out", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    shown = subprocess.run(["openssl", "x509", "-noout", "-text", "-in", str(file)], check=True, capture_output=True, text=True)
    assert "Version: 1 (0x0)" in shown.stdout
    assert certificate_ends(file.read_bytes()) == (ending(file),)


def test_public_authorities_end_when_python_says() -> None:
    """Each of more than a hundred, in the order of the file."""
    text = Path(certifi.where()).read_text(encoding="utf-8")
    blocks = [f"{part}-----END CERTIFICATE-----\n" for part in text.split("-----END CERTIFICATE-----")[:-1]]
    expected = []
    for block in blocks:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=block[block.index("-----BEGIN") :])
        (told,) = context.get_ca_certs()
        expected.append(int(ssl.cert_time_to_seconds(str(told["notAfter"]))))
    assert len(expected) > 100
    assert certificate_ends(text.encode()) == tuple(expected)


def der_of(file: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(file.read_text(encoding="utf-8"))


def pem(der: bytes) -> bytes:
    return ssl.DER_cert_to_PEM_cert(der).encode()


def element(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return bytes((tag, len(content))) + content


def by_hand(end: bytes, tag: int = 0x17) -> bytes:
    """The fewest fields that a certificate has."""
    validity = element(0x30, element(0x17, b"200101000000Z"), element(tag, end))
    return element(0x30, element(0x30, element(0x02, b"\x01"), element(0x30), element(0x30), validity))


@pytest.mark.parametrize(("end", "tag", "seconds"), [
    (b"491231235959Z", 0x17, 2_524_607_999), (b"500101000000Z", 0x17, -631_152_000), (b"20500101000000Z", 0x18, 2_524_608_000),
    (b"99991231235959Z", 0x18, 253_402_300_799),
])  # fmt: skip
def test_two_digits_of_a_year(end: bytes, tag: int, seconds: int) -> None:
    """From 50 on they are of the last century. Certificates without an end have the last second of all."""
    assert certificate_ends(pem(by_hand(end, tag))) == (seconds,)


@pytest.mark.parametrize("der", [
    by_hand(b"20500101000000Z", 0x17), by_hand(b"500101000000Z", 0x18), by_hand(b"20500101000000.5Z", 0x18),
    by_hand(b"5001010000Z"), by_hand(b"500101000000+0000"), by_hand(b"501301000000Z"), by_hand(b"500101000000Z", 0x13),
    b"\x30\x81" + by_hand(b"500101000000Z")[1:], b"\x30\x82\x00" + by_hand(b"500101000000Z")[1:],
    by_hand(b"500101000000Z") * 2, element(0x31, by_hand(b"500101000000Z")[2:]),
])  # fmt: skip
def test_what_the_encoding_rules_forbid(der: bytes) -> None:
    """Another form of time, a length that is longer than it needs to be, more than one element."""
    with pytest.raises(CertificateTextError):
        certificate_ends(pem(der))


@pytest.mark.parametrize(("text", "told"), [
    (b"", "no certificate in PEM form"), (b"\xff\x00 hello", "no certificate in PEM form"),
    (b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "is damaged"),
    (b"-----BEGIN CERTIFICATE-----\n*-----END CERTIFICATE-----", "is not base64"),
    (b"-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----", "no certificate in PEM form"),
    (pem(b"\x30\x80\x00\x00"), "is damaged"), (pem(b"\x30\x84\xff\xff\xff\xff"), "is damaged"), (pem(b"\x30"), "is damaged"),
    (pem(b"\x30\x03\x02\x01\x00"), "is damaged"), (b"a" * ((1 << 20) + 1), "more than the limit of 1048576"),
])  # fmt: skip
def test_what_is_no_certificate(text: bytes, told: str) -> None:
    """A sentence that quotes nothing of it."""
    with pytest.raises(CertificateTextError, match=told):
        certificate_ends(text)


def test_damaged_certificates_end_in_a_sentence(tmp_path: Path) -> None:
    """Bytes that change, are missing or come twice: the same end, another one, or the error; never another exception."""
    der = der_of(made(tmp_path, *EC, "-days", "365"))
    chance = random.Random(7)
    refused = 0
    for _ in range(4000):
        text = bytearray(der)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(min(len(text), 150) if chance.random() < 0.7 else len(text))
            match chance.randrange(3):
                case 0:
                    text[at] = chance.randrange(256)
                case 1:
                    del text[at : at + chance.randint(1, 9)]
                case 2:
                    text[at:at] = text[at : at + chance.randint(1, 9)]
        try:
            (end,) = certificate_ends(pem(bytes(text)))
        except CertificateTextError:
            refused += 1
        else:
            assert isinstance(end, int)
    assert refused > 1000


def test_a_part_of_a_certificate_is_never_taken_for_one(tmp_path: Path) -> None:
    der = der_of(made(tmp_path, *EC, "-days", "365"))
    for length in range(len(der)):
        with pytest.raises(CertificateTextError):
            certificate_ends(pem(der[:length]))
    with pytest.raises(CertificateTextError):
        certificate_ends(pem(der + b"\x00"))


@pytest.mark.parametrize(("text", "expected"), [
    (
        token({"iat": 1_700_000_000, "exp": 1_731_536_000, "sub": "é" * 9}),
        TokenTimes(issued_seconds=1_700_000_000, end_seconds=1_731_536_000),
    ),
    (token({"exp": 1_731_536_000.9}), TokenTimes(end_seconds=1_731_536_000)),
    (token({"iss": "kubernetes/serviceaccount"}), None), (token({"exp": "soon"}), None), (token([]), None),
    (token({"exp": -5}), None), (token({"exp": 1e300}), None), (token({"exp": float("nan")}), None),
    ("k8s-aws-v1.aHR0cHM6Ly9zdHM", None), ("abcdef.0123456789abcdef", None), ("", None), ("a.b.c", None), ("a.*.c", None),
    (f"a.{'W' * 100_000}.c", None), ("é.é.é", None),
])  # fmt: skip
def test_the_end_of_a_token(text: str, expected: TokenTimes | None) -> None:
    """By its own words; what is no such token says nothing."""
    assert token_times(text) == expected


def test_a_deep_token_says_nothing() -> None:
    body = base64.urlsafe_b64encode(b'{"exp": 5, "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}").decode().rstrip("=")
    assert token_times(f"a.{body}.c") is None
