"""Keys and certificates of one control plane: a CA, the server's certificate, one client certificate a user."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_BEFORE = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_AFTER = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)


class Authority:
    """A certificate authority that writes PEM files into a directory: NAME.crt and NAME.key. Rotators of certificates read no
    key of an authority but RSA in PKCS #1, so `rsa_key` makes such a one."""

    def __init__(self, directory: Path, name: str = "testbed-ca", *, rsa_key: bool = False) -> None:
        self._directory = directory
        self._key = _rsa_key() if rsa_key else ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name)
        certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            # Some rotators of certificates look for the name of their authority here.
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = directory / "ca.crt"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self.key = directory / "ca.key"
        own_form = serialization.PrivateFormat.TraditionalOpenSSL if rsa_key else serialization.PrivateFormat.PKCS8
        _write_key(self.key, self._key, own_form)

    def server(self, name: str, *hosts: str) -> tuple[Path, Path]:
        """Certificate and key of a server on loopback, which may have other names as well."""
        known = [x509.DNSName(host) for host in ("localhost", *hosts)]
        names = x509.SubjectAlternativeName([*known, x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        return self._issue(name, _subject(name), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, *groups: str) -> tuple[Path, Path]:
        """Certificate and key of an API user in some groups."""
        return self._issue(user.replace(":", "-"), _subject(user, *groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _issue(
        self, name: str, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        paths = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(paths[1], key)
        return paths

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(_BEFORE)
            .not_valid_after(_AFTER)
        )


def service_account_keys(directory: Path) -> tuple[Path, Path]:
    """The public and private key for service account tokens (RSA: the only kind every version takes)."""
    key = _rsa_key()
    public, private = directory / "sa.pub", directory / "sa.key"
    public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    _write_key(private, key)
    return public, private


def _subject(user: str, *groups: str) -> x509.Name:
    # Attributes of one relative name each: that is where the API server looks for groups.
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user), *organizations])


def _rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _write_key(
    path: Path,
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey,
    own_form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> None:
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, own_form, serialization.NoEncryption()))
    path.chmod(0o600)
