"""What a live process makes of Crusoe: its provider and its poll, over the notes that it keeps or none."""

from typing import cast

import msgspec
import pytest

from reconciler.kube.connection.api import Api
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.live import LIVE
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Intent, Notes
from reconciler.providers.contract import WriteCode
from reconciler.providers.live_platforms import Surroundings
from tests.crusoe.documents import instance, machine_id, pool
from tests.crusoe.scripted import Scripted
from tests.crusoe.test_questions import POLICY
from tests.crusoe.test_removal_answers import NAME
from tests.crusoe.writes import LOCATION, TargetRef

A = machine_id(1)
REF = TargetRef(kind=NODE_POOL, region=LOCATION, name="h100")


class Broken(InMemoryKeeper):
    """Nothing can be read of it."""

    def load(self, part: str) -> bytes | None:
        raise OSError("the ConfigMap cannot be read")


@pytest.fixture(autouse=True)
def crusoe(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """One pool with one machine, as this process asks for it."""
    found = Scripted({"/nodepools": {"items": [pool(count=1, machines=(A,))]}, "/vms": {"items": [instance(A)]}})
    monkeypatch.setattr("reconciler.platforms.crusoe.live.account", lambda: found.account)
    return found


def around(notes: InMemoryKeeper | None) -> Surroundings:
    return Surroundings(management=cast(Api, None), policy=lambda: POLICY, notes=notes)


@pytest.mark.parametrize(("notes", "said"), [(None, True), (InMemoryKeeper(), True), (Broken(), False)])
def test_who_writes(notes: InMemoryKeeper | None, *, said: bool) -> None:
    """What is noted is read before every write; a process that keeps no notes writes as one that has none yet."""
    assert LIVE.provider is not None
    result = LIVE.provider(around(notes)).abandon(REF, A)
    assert (result.done, result.code) == ((True, "") if said else (False, WriteCode.UNAVAILABLE))
    assert said or "the note that must come first cannot be saved: the ConfigMap cannot be read" in result.message
    assert str(REF) == NAME


def test_what_is_polled() -> None:
    """With what is noted of it."""
    keeper = InMemoryKeeper()
    Notes(keeper).put(A, Intent(pool="pool-h100", count=2, beside=()))
    for notes, leaving in ((None, {}), (keeper, {A: 2})):
        (poll,) = LIVE.polled(around(notes))
        poll.ask()  # type: ignore[attr-defined]
        (behaviour,) = [one for one in poll.documents() if one.kind == "CrusoeBehaviour"]
        assert [msgspec.json.decode(bytes(item))["leaving"] for item in behaviour.items] == [leaving]


def test_what_doctor_asks(crusoe: Scripted) -> None:
    """Of the policy in force."""
    assert [check.code for check in LIVE.checks(around(None))][:1] == ["Crusoe"]
    assert list(LIVE.checks(Surroundings(management=cast(Api, None)))) == []
    assert crusoe.asked[0][0] == "GET"
