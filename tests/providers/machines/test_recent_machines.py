"""Of a hundred Machines that are asked for in a moment most are read in one answer, and each is judged as if read alone."""

import msgspec
import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.providers.contract import WriteCode
from reconciler.providers.machines.dialect import MachineReading
from reconciler.providers.machines.recent_machines import RecentMachines
from reconciler.providers.machines.targets import MachineTargets
from tests.providers.machines_in_memory import GENERAL, MachinesInMemory


class Asked:
    """A hundred machines `m1` to `m100`, and a clock that stands still."""

    def __init__(self, count: int = 100) -> None:
        self.now = 10.0
        self.machines = MachinesInMemory()
        like = self.machines.machines["m1"]
        names = [f"m{one}" for one in range(1, count + 1)]
        self.machines.machines = {name: msgspec.structs.replace(like, name=name, node=f"n{name[1:]}") for name in names}
        self.machines.replicas = count
        self.recent = RecentMachines(MachineTargets(self.machines, self.machines), lambda: self.now)  # type: ignore[arg-type]

    def one(self, name: str) -> MachineReading | None:
        return self.recent.one(self.machines.read_target(self.machines, GENERAL), name)  # type: ignore[arg-type]


def test_the_first_tenth_is_read_by_name() -> None:
    """Of a hundred ten, the others in one answer; of two hundred twenty, of five no list at all."""
    for count, gets, lists in ((100, 10, 1), (200, 20, 1), (5, 5, 0), (11, 10, 1)):
        asked = Asked(count)
        names = list(asked.machines.machines)
        assert [asked.one(name) for name in names] == list(asked.machines.machines.values())
        assert (len(asked.machines.gets), asked.machines.lists) == (gets, lists)


def test_a_pause_begins_anew() -> None:
    """Half a second in which none was asked for: the next one is read alone. Until then the list is half a second old at most."""
    asked = Asked()
    for one in range(1, 12):
        asked.one(f"m{one}")
    asked.now += 0.4
    asked.one("m12")
    asked.now += 0.4
    asked.one("m13")
    assert (len(asked.machines.gets), asked.machines.lists) == (10, 2)
    asked.now += 0.6
    asked.one("m14")
    assert (asked.machines.gets[10:], asked.machines.lists) == (["m14"], 2)


def test_one_that_the_list_lacks_is_read_by_name() -> None:
    """It may be new, or gone."""
    asked = Asked()
    asked.machines.unlisted = {"m20"}
    for one in range(1, 11):
        asked.one(f"m{one}")
    found = asked.one("m20")
    assert found is not None
    assert found.name == "m20"
    assert asked.one("gone") is None
    assert asked.machines.gets[10:] == ["m20", "gone"]


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", "no list"), UnreachableError("cut"), msgspec.DecodeError("odd")])
def test_what_cannot_be_listed_is_read_by_name(error: Exception) -> None:
    """The list is a help and nothing else."""
    asked = Asked()
    asked.machines.unlistable = error
    assert [asked.one(f"m{one}") for one in range(1, 21)] == list(asked.machines.machines.values())[:20]
    asked.machines.unreadable["m21"] = UnreachableError("cut")
    with pytest.raises(UnreachableError):
        asked.one("m21")


def test_a_no_of_the_list_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine bore somebody's mark when the list was read, and does not any more; and the other way round it may begin, since
    it is judged again before it goes."""
    monkeypatch.setattr("reconciler.providers.machines.shared_readings.RECENT_SECONDS", 3600)
    monkeypatch.setattr("reconciler.providers.machines.shared_readings.RECENT_SECONDS", 3600)
    machines = Asked().machines
    machines.change("m50", mark="theirs")
    provider = machines.provider()

    def code(one: int) -> WriteCode | str:
        return provider.may_begin(GENERAL, f"m{one}", f"n{one}", machines.bound()).code

    assert {code(one) for one in range(1, 12)} == {""}
    assert machines.lists == 1
    assert code(50) is WriteCode.REFUSED
    machines.change("m50", mark=None)
    machines.change("m51", mark="theirs")
    assert code(50) == ""
    assert code(51) == ""
    assert (machines.gets[10:], machines.lists) == (["m50", "m50"], 1)
