"""The client of AWS: the one file that knows boto3, which is imported at the first call.

Credentials come from the SDK's own chain (environment, profile, web identity, Pod Identity, instance). Endpoints come from its
own configuration (`AWS_ENDPOINT_URL`). Attempts and time limits are ours: the SDK's own retries would be unseen and uncounted.

The SDK reads static keys once, and renews a role's session by its end alone. So after a call with credentials that no longer
work, all of them are read again. A refused call was not done: it is repeated at once if there are other credentials now.
"""

import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any

from reconciler.platforms.aws.writing.calls import Answer, AwsError

CONNECT_SECONDS, READ_SECONDS = 3, 15
_LONGEST = 300
_EXPLICIT, _RENEWED_SECONDS = "explicit deny", 300.0
_SESSION_NAME = "nodegroup-reconciler"
_EXTRA = "the AWS client is not installed: pip install 'nodegroup-reconciler[aws]'"


class BotoAws:
    """One region, as the role (empty: as the identity of the chain). `endpoint` replaces the SDK's own for every service."""

    def __init__(self, region: str, role: str = "", endpoint: str | None = None) -> None:
        self._region = region
        self._role = role
        self._endpoint = endpoint
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self._lock = threading.RLock()
        """Held while clients are made: the SDK makes them in one thread at a time."""
        self._renewed_at = float("-inf")

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """One attempt, and another one with other credentials. Raises `AwsError`."""
        session = self._session
        try:
            return self._call(service, action, parameters)
        except AwsError as error:
            if not (error.unauthenticated or self._may_be_revoked(error)):
                raise
            with self._lock:
                # Calls of other threads fail for the same cause, and one of them renews the session for all.
                if (session is None or session is self._session) and not self._renewed():
                    raise
        return self._call(service, action, parameters)

    def _may_be_revoked(self, error: AwsError) -> bool:
        """Whether the session may have been revoked. SOURCE: IAM revokes the sessions of a role by a policy that denies
        everything to those that began before. A deny may also last, so it renews the session only now and then."""
        now = time.monotonic()
        if not error.denied or _EXPLICIT not in error.message or now - self._renewed_at < _RENEWED_SECONDS:
            return False
        self._renewed_at = now
        return True

    def _renewed(self) -> bool:
        """Forget the session. Returns whether a new one has other credentials."""
        before, self._session, self._clients = self._key(), None, {}
        if before is None:
            return False
        self._session = self._made()
        return self._key() not in (None, before)

    def _key(self) -> tuple[str, str | None] | None:
        """The key id and the token of the session; None without a session, or if it has no credentials."""
        from botocore import exceptions  # noqa: PLC0415 - as below

        try:
            credentials = self._session.get_credentials() if self._session is not None else None
            frozen = credentials.get_frozen_credentials() if credentials is not None else None
        except (exceptions.BotoCoreError, exceptions.ClientError):
            return None
        return None if frozen is None else (frozen.access_key, frozen.token)

    def _call(self, service: str, action: str, parameters: dict[str, Any]) -> Answer:
        try:
            from botocore import exceptions, xform_name  # noqa: PLC0415 - 0.25 s and 391 modules that only this needs
            from botocore.parsers import ResponseParserError  # noqa: PLC0415 - as above
        except ImportError:
            raise AwsError("NoClient", _EXTRA) from None
        try:
            body = getattr(self._client(service), xform_name(action))(**parameters)
        except exceptions.ClientError as error:
            details = error.response.get("Error", {})
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            # The service may report a fault after it has done the work.
            raise AwsError(details.get("Code", ""), details.get("Message", ""), status=status, sent=status >= 500) from None
        except (exceptions.NoCredentialsError, exceptions.CredentialRetrievalError, exceptions.PartialCredentialsError) as error:
            raise AwsError("NoCredentials", str(error)) from None
        except (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError) as error:
            raise AwsError("Unreachable", str(error)) from None
        except (exceptions.BotoCoreError, ResponseParserError) as error:
            # A proxy may have answered instead of AWS.
            raise AwsError("Unreachable", str(error)[:_LONGEST], sent=True) from None
        headers = body.pop("ResponseMetadata", {}).get("HTTPHeaders", {})
        return Answer(body, _seconds(headers.get("date", "")))

    def _client(self, service: str) -> Any:  # noqa: ANN401 - made by the SDK from its own models
        with self._lock:
            return self._known_client(service)

    def _known_client(self, service: str) -> Any:  # noqa: ANN401 - as above
        if service not in self._clients:
            from botocore.config import Config  # noqa: PLC0415 - as above

            config = Config(
                connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"total_max_attempts": 1, "mode": "standard"}
            )
            if self._session is None:
                self._session = self._made()
            self._clients[service] = self._session.client(
                service, region_name=self._region, config=config, endpoint_url=self._endpoint
            )
        return self._clients[service]

    def _made(self) -> Any:  # noqa: ANN401 - a session of the SDK
        from functools import partial  # noqa: PLC0415 - next to what needs it

        import boto3  # noqa: PLC0415 - as above
        from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials  # noqa: PLC0415
        from botocore.session import get_session  # noqa: PLC0415

        session = get_session()
        if self._role:
            fetcher = AssumeRoleCredentialFetcher(
                client_creator=partial(session.create_client, region_name=self._region, endpoint_url=self._endpoint),
                source_credentials=session.get_credentials(),
                role_arn=self._role,
                extra_args={"RoleSessionName": _SESSION_NAME},
            )
            assumed = get_session()
            # The SDK has no public way to give a session credentials that renew themselves.
            assumed._credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
            session = assumed
        return boto3.Session(botocore_session=session)


def _seconds(date: str) -> int:
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except ValueError:
        return 0
