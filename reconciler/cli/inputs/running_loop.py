"""The pages of a running loop, asked over HTTP."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from reconciler.cli.outputs.failure import InputError

TIMEOUT_SECONDS = 30.0
MOST_BYTES = 256 << 20
_REFUSED = (401, 403)
_HERE = ("localhost", "127.0.0.1", "::1")


class _NoRedirects(HTTPRedirectHandler):
    """A loop sends nobody elsewhere, and a token must not travel."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def ask(
    url: str, path: str, token_file: Path | None = None, *, text: bool, query: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The answer to GET `path` (unescaped) with a query below `url`; `text`: for people instead of JSON. Raises `InputError`."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"--live {url}: an address such as http://localhost:8080")
    headers = {"Accept": "text/plain" if text else "application/json"}
    if token_file is not None:
        if in_the_clear(url):
            raise InputError(
                f"--live {url}: a token is not sent without TLS. Use https://, or kubectl port-forward without a token"
            )
        headers["Authorization"] = f"Bearer {_token(token_file)}"
    asked = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}{quote(path)}"
    if words := urlencode(query or {}, doseq=True):
        asked = f"{asked}?{words}"
    try:
        with build_opener(_NoRedirects).open(Request(asked, headers=headers), timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - checked
            return str(answer.read(MOST_BYTES).decode("utf-8", "replace"))
    except HTTPError as error:
        detail = error.read(4096).decode("utf-8", "replace").strip() or str(error)
        hint = (
            ". Pass a token with --token-file FILE (kubectl create token)"
            if error.code in _REFUSED and token_file is None
            else ""
        )
        raise InputError(f"{asked}: {detail}{hint}") from None
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"{asked} does not answer: {getattr(reason, 'strerror', None) or reason}. Is the loop reachable there "
            "(kubectl port-forward)?"
        ) from None


def in_the_clear(url: str) -> bool:
    """Whether what is sent there can be read on the way: no TLS, and not to this machine."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return parts.scheme != "https" and parts.hostname not in _HERE


def _token(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--token-file {file}: {getattr(error, 'strerror', None) or error}") from None
