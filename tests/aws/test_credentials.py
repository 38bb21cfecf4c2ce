"""Credentials that end while the process runs: the next call reads them again, and no group pays for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.platforms.aws.writing.calls import AwsError
from reconciler.platforms.aws.writing.client import BotoAws
from reconciler.platforms.aws.writing.write_answer import failed
from reconciler.providers.contract import WriteCode
from tests.aws.documents import REGION
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.aws.test_loop import Loop, pending, sizes

ROLE = "arn:aws:iam::123456789012:role/sizer"
CODES = ("ExpiredToken", "InvalidClientTokenId", "UnrecognizedClientException")


@pytest.fixture
def keys_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of keys that somebody rotates."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    write(tmp_path / "credentials", "AKIAOLD")
    return tmp_path / "credentials"


@pytest.fixture
def sessions(service: Service) -> Iterator[Service]:
    """Each session of a role has a key id of its own."""
    service.assumed, service.numbers_sessions = 0, True
    yield service
    service.numbers_sessions = False


def write(path: Path, key: str) -> None:
    path.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n")


def asked(aws: BotoAws) -> int:
    return len(aws.call("autoscaling", "DescribeAutoScalingGroups").body["AutoScalingGroups"])


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("code", CODES)
def test_a_keys_file_that_is_rotated(service: Service, keys_file: Path, code: str) -> None:
    """The call that meets the dead key succeeds with the new one. While the file has the dead key, each call is sent once."""
    aws = BotoAws(REGION, "", service.url)
    asked(aws)
    service.account.dead_keys["AKIAOLD"] = code
    before = service.count()
    with pytest.raises(AwsError, match=code):
        asked(aws)
    assert service.count() == before + 1
    write(keys_file, "AKIANEW")
    asked(aws)
    assert service.count() == before + 3


@pytest.mark.usefixtures("at_once")
def test_a_session_of_a_role_that_is_revoked(sessions: Service) -> None:
    """The role is assumed again."""
    aws = BotoAws(REGION, ROLE, sessions.url)
    asked(aws)
    sessions.account.dead_keys["ASIAsizer1"] = "ExpiredToken"
    asked(aws)
    assert sessions.assumed == 2


@pytest.mark.usefixtures("at_once")
def test_sessions_that_a_policy_revokes(sessions: Service) -> None:
    """IAM denies everything to older sessions, so the role is assumed again, once. A deny that stays does so every five minutes
    at most."""
    aws = BotoAws(REGION, ROLE, sessions.url)
    asked(aws)
    deny = ServiceError("AccessDenied", "User: u is not authorized: with an explicit deny in an identity-based policy", 403)
    sessions.account.faults["DescribeAutoScalingGroups"] = [deny]
    asked(aws)
    assert sessions.assumed == 2
    sessions.account.faults["DescribeAutoScalingGroups"] = [deny]
    with pytest.raises(AwsError, match="explicit deny"):
        asked(aws)
    assert sessions.assumed == 2


@pytest.mark.parametrize("code", [*CODES, "ExpiredTokenException", "NoCredentials"])
def test_they_are_no_missing_right(code: str) -> None:
    """A denial backs a group off. Credentials that do not work are not the group's."""
    assert failed(AwsError(code, "dead"), "g").code == WriteCode.UNAVAILABLE
    assert failed(AwsError("AccessDenied", "no"), "g").code == WriteCode.DENIED


@pytest.mark.usefixtures("at_once")
def test_the_group_grows_once_they_work_again(service: Service) -> None:
    """A write meets an expired token. The next iteration writes, without a back-off."""
    loop = Loop(service)
    loop.cluster.pods = pending(2)
    service.account.faults["SetDesiredCapacity"] = [ServiceError("ExpiredToken", "dead", 403)]
    loop.turn()
    assert sizes(loop) == (0, 0)
    loop.turn()
    assert sizes(loop) == (2, 0)
    assert (loop.store.load().denials, loop.store.load().backoffs) == ({}, {})
