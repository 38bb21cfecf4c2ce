"""Is a push notification from somebody who has the secret? It only makes the next look at the source come sooner.

SOURCE: GitHub (and Gitea, Forgejo): `X-Hub-Signature-256: sha256=<HMAC-SHA256 of the body>`. GitLab: `X-Gitlab-Token` has the
secret itself. The weaker `X-Hub-Signature` (SHA-1) is not accepted.
"""

import hashlib
import hmac
from collections.abc import Mapping
from enum import StrEnum

GITHUB_HEADER = "x-hub-signature-256"
GITLAB_HEADER = "x-gitlab-token"
LEAST_SECRET_BYTES = 16
_PREFIX = "sha256="


class Verdict(StrEnum):
    """What to answer: Accepted 202, Unsigned 401, Refused 403."""

    ACCEPTED = "Accepted"
    UNSIGNED = "Unsigned"
    REFUSED = "Refused"


STATUSES: Mapping[Verdict, int] = {Verdict.ACCEPTED: 202, Verdict.UNSIGNED: 401, Verdict.REFUSED: 403}


def judged(headers: Mapping[str, str], body: bytes, secret: bytes) -> Verdict:
    """Headers with names in lower case. Takes as long for a wrong signature as for a right one.

    The content is not read. A valid notification only triggers a look, and the source itself is read. So a repeated notification
    does no harm. Raises `ValueError` for a secret that could be guessed.
    """
    if len(secret) < LEAST_SECRET_BYTES:
        raise ValueError(f"a webhook secret needs at least {LEAST_SECRET_BYTES} bytes")
    signature, token = headers.get(GITHUB_HEADER), headers.get(GITLAB_HEADER)
    if signature is not None:
        expected = _PREFIX + hmac.new(secret, body, hashlib.sha256).hexdigest()
        same = hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected.encode())
    elif token is not None:
        same = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), secret)
    else:
        return Verdict.UNSIGNED
    return Verdict.ACCEPTED if same else Verdict.REFUSED
