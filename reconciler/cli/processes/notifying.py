"""Where the loop sends its news, as options say it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from reconciler.control.live.news_webhook import NewsWebhook
    from reconciler.control.log import Log

LEAST_SECRET_BYTES = 16
PATIENCE_SECONDS = 5.0
_TIMEOUT_SECONDS = 10.0


class Notifying(msgspec.Struct, frozen=True, kw_only=True):
    """The options as given: the address (None: no webhook), the file of the secret, and the lowest grade."""

    url: str | None = None
    secret_file: Path | None = None
    grade: str = "Warning"

    def check(self) -> None:
        """Raises `InputError` for options that do not go together, or that sign nothing."""
        if self.url is None:
            if self.secret_file is not None:
                raise InputError("--notify-secret-file signs what --notify-url sends: give both or neither")
            return
        if self.secret_file is None:
            raise InputError("--notify-url: the receiver checks a signature, so --notify-secret-file is needed")
        try:
            length = len(_secret(self.secret_file))
        except OSError as error:
            raise InputError(f"--notify-secret-file {self.secret_file}: {error.strerror or error}") from None
        if length < LEAST_SECRET_BYTES:
            raise InputError(
                f"--notify-secret-file {self.secret_file}: {length} bytes could be guessed, at least {LEAST_SECRET_BYTES} are "
                "needed: openssl rand -hex 32"
            )
        from reconciler.gitops.sources.download import DownloadError, connection_to

        try:
            connection_to(self.url, _TIMEOUT_SECONDS)
        except DownloadError as error:
            raise InputError(f"--notify-url: {error}") from None

    def opened(self, journal: "Log") -> "NewsWebhook | None":
        """What sends; None without an address."""
        import random
        import time

        from reconciler.control.live.news_webhook import NewsWebhook
        from reconciler.kube.leading.events import Severity

        if self.url is None or self.secret_file is None:
            return None
        url, secret_file = self.url, self.secret_file
        return NewsWebhook(
            lambda body, headers: _posted(url, body, headers),
            lambda: _secret(secret_file),
            grade=Severity(self.grade),
            now_seconds=lambda: int(time.time()),
            random=random.SystemRandom().random,
            failed=lambda why: journal.warning("NewsNotDelivered", why),
        )


def _secret(path: Path) -> bytes:
    return path.read_bytes().strip()


def _posted(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """The status of one request, without its answer. Raises `OSError`."""
    import http.client

    from reconciler.gitops.sources.download import connection_to

    connection, path = connection_to(url, _TIMEOUT_SECONDS)
    try:
        connection.request("POST", path, body, dict(headers))
        with connection.getresponse() as response:
            return response.status
    except http.client.HTTPException as error:
        raise OSError(f"the answer cannot be read: {type(error).__name__}") from None
    finally:
        connection.close()
