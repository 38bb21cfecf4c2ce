"""OpenShift's Machine API on the control plane of the session."""

from collections.abc import Iterator
from typing import Protocol

import pytest

from tests.openshift.live_bench import MachineSetBench
from tests.testbed.machine_api import MachineApi


class NewSet(Protocol):
    def __call__(self, replicas: int, **fields: object) -> MachineSetBench: ...


@pytest.fixture
def new_set(machine_api: MachineApi) -> Iterator[NewSet]:
    """Makes a MachineSet; it is gone after the test."""
    made: list[MachineSetBench] = []

    def make(replicas: int, **fields: object) -> MachineSetBench:
        made.append(MachineSetBench(machine_api, replicas, **fields))
        return made[-1]

    yield make
    for bench in made:
        bench.gone()
