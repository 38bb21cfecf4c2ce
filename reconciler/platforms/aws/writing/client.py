"""The client of AWS: the one file that knows boto3, which is imported at the first call.

Credentials come from the SDK's own chain (environment, profile, web identity, Pod Identity, instance). Endpoints come from its
own configuration (`AWS_ENDPOINT_URL`). Attempts and time limits are ours: the SDK's own retries would be unseen and uncounted.
"""

from email.utils import parsedate_to_datetime
from typing import Any

from reconciler.platforms.aws.writing.calls import Answer, AwsError

CONNECT_SECONDS, READ_SECONDS = 3, 15
_LONGEST = 300
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

    def call(self, service: str, action: str, **parameters: Any) -> Answer:  # noqa: ANN401 - as the action has them
        """One attempt. Raises `AwsError`."""
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
