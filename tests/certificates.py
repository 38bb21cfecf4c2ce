"""Certificates that OpenSSL makes, and unsigned JSON web tokens."""

import base64
import json
import ssl
import subprocess
from pathlib import Path


def made(directory: Path, *words: str) -> Path:
    """A certificate by OpenSSL, signed by itself."""
    file = directory / "cert.pem"
    subject = ("-nodes", "-subj", "/O=system:masters/CN=admin", "-keyout", str(directory / "key.pem"))
    subprocess.run(["openssl", "req", "-x509", *subject, "-out", str(file), *words], check=True, capture_output=True)
    return file


def ending(file: Path) -> int:
    """What OpenSSL says of it."""
    told = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", str(file)], check=True, capture_output=True, text=True)
    return int(ssl.cert_time_to_seconds(told.stdout.strip().partition("=")[2]))


EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


def token(claims: object, head: str = "e30") -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"{head}.{body}.c2ln"
