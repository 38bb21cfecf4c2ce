"""The access key of one Crusoe project and cluster, from the environment or from mounted files."""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    pass

ENDPOINT = "https://api.cloud.crusoe.ai/v1"
DIRECTORY = "CRUSOE_CREDENTIALS_DIRECTORY"
ACCESS_KEY, SECRET_KEY = "CRUSOE_ACCESS_KEY", "CRUSOE_SECRET_KEY"
PROJECT, CLUSTER, ORGANIZATION = "CRUSOE_PROJECT_ID", "CRUSOE_CLUSTER_ID", "CRUSOE_ORGANIZATION_ID"
API_ENDPOINT, LOWERING = "CRUSOE_API_ENDPOINT", "CRUSOE_LOWERING"
_NEEDED = (ACCESS_KEY, SECRET_KEY, PROJECT, CLUSTER)
_HERE = ("127.0.0.1", "localhost", "::1")


class CredentialsError(Exception):
    """What is missing or wrong. The message never has a secret."""


class Credentials:
    """`organization` is empty if reservations cannot be asked for. `lowering` is what somebody has found out about the platform
    (`Keeps`, `Trims`, empty). No text of this object has the secret."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Raises `CredentialsError`."""
        missing = [name for name in _NEEDED if not values.get(name)]
        if missing:
            raise CredentialsError(f"{', '.join(missing)} not set (environment, or files below {DIRECTORY})")
        self.access_key = values[ACCESS_KEY]
        self.project, self.cluster = values[PROJECT], values[CLUSTER]
        self.organization, self.lowering = values.get(ORGANIZATION, ""), values.get(LOWERING, "")
        self.endpoint = values.get(API_ENDPOINT, "").rstrip("/") or ENDPOINT
        parts = urlsplit(self.endpoint)
        if parts.scheme != "https" and parts.hostname not in _HERE:
            raise CredentialsError(f"{API_ENDPOINT} must be https")
        try:
            self._secret = base64.urlsafe_b64decode(
                values[SECRET_KEY].rstrip("=") + "=" * (-len(values[SECRET_KEY].rstrip("=")) % 4)
            )
        except (binascii.Error, ValueError):
            raise CredentialsError(f"{SECRET_KEY} is not valid base64url") from None

    @property
    def base_path(self) -> str:
        """The path of the endpoint, which is signed with every request."""
        return urlsplit(self.endpoint).path

    def key(self) -> bytes:
        """The key that signs requests."""
        return self._secret

    def __repr__(self) -> str:
        return f"Credentials({self.access_key[:4]}…, project {self.project})"


def read_credentials(environment: Mapping[str, str] = os.environ) -> Credentials:
    """A file wins over a variable of the same name: a mounted Secret is renewed in place. Raises `CredentialsError`."""
    values = {name: environment.get(name, "") for name in (*_NEEDED, ORGANIZATION, API_ENDPOINT, LOWERING)}
    folder = environment.get(DIRECTORY, "")
    if folder:
        for name in values:
            path = Path(folder) / name
            try:
                if path.is_file():
                    values[name] = path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise CredentialsError(f"{path}: {type(error).__name__}") from None
    return Credentials(values)


def configured(environment: Mapping[str, str]) -> bool:
    """Whether this process uses Crusoe at all."""
    return bool(environment.get(DIRECTORY) or environment.get(ACCESS_KEY))
