"""Random selectors mean the same here as in cel-go, and the cost of each is bounded."""

import json
import os
from collections.abc import Iterator

import pytest

from reconciler.cluster.devices.resource_slice import Device, resource_slice
from reconciler.cluster.wire.devices import ResourceSlice
from reconciler.scheduling.devices.selector_values import NotEvaluatedError, SelectorError
from reconciler.scheduling.devices.selectors import MOST_STEPS, Answer, Selector
from reconciler.values.decoding import decode
from tests.differential.oracle import Object, Oracle
from tests.differential.random_selectors import DEVICE, batches
from tests.differential.test_selectors import POOL
from tests.scheduling.devices.test_device_selectors import DRIVER

COUNT = int(os.environ.get("SELECTORS", "3000"))
"""The acceptance run of a release has 100,000."""


@pytest.fixture(scope="module")
def evaluating(oracle: Oracle) -> Iterator[Oracle]:
    """cel-go with the environment of kube-scheduler's plugin."""
    del oracle  # it skips where no oracle can be had
    with Oracle("-selectors") as running:
        yield running


def _device() -> Device:
    """The device as a snapshot has it."""
    spec = {"driver": DRIVER, "nodeName": "n", "pool": POOL, "devices": [DEVICE]}
    item = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    (device,) = resource_slice(decode(json.dumps(item).encode(), ResourceSlice)).devices
    return device


OURS = _device()


def answer(expression: str) -> Answer:
    """What is evaluated here; a selector that does not compile takes no steps."""
    try:
        return Selector(expression).answer(DRIVER, OURS)
    except NotEvaluatedError as error:
        return Answer(error, 0)


def differs(ours: Answer, theirs: Object) -> bool:
    """Whether both tell another value, or only one fails. What is not evaluated here is no answer."""
    if isinstance(ours.said, NotEvaluatedError) or "refused" in theirs:
        return False
    if isinstance(ours.said, SelectorError):
        return "failed" not in theirs
    return "failed" in theirs or ours.said is not theirs["selects"]


def test_random_selectors(evaluating: Oracle) -> None:
    """No answer differs, none takes more steps than it may, and most of what cel-go takes is evaluated here."""
    accepted, judged = 0, 0
    for expressions in batches(20261129, COUNT):
        asked = {"driver": DRIVER, "device": DEVICE, "expressions": expressions}
        for expression, theirs in zip(expressions, evaluating.ask(asked), strict=True):
            ours = answer(expression)
            assert not differs(ours, theirs), (expression, ours, theirs)
            assert ours.steps <= MOST_STEPS
            if "refused" not in theirs:
                accepted += 1
                judged += not isinstance(ours.said, NotEvaluatedError)
    assert accepted > COUNT // 2
    assert judged > accepted * 3 // 4
