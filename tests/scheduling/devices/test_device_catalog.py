"""What the selectors of a cluster say together: what one of them costs, and whom its failure concerns."""

import pytest

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import Alternative
from reconciler.cluster.devices.resource_slice import Device
from reconciler.scheduling.devices.catalog import Catalog
from reconciler.scheduling.devices.selector_values import NotEvaluatedError
from reconciler.scheduling.devices.selectors import Selector

DRIVER = "gpu.example.com"
GPU = Device(name="gpu-0", attributes=(), capacities=())


def asked(*expressions: str) -> Alternative:
    """A request for one device of the class `gpu`."""
    return Alternative(name="r", device_class="gpu", selectors=expressions)


def catalog() -> Catalog:
    """One class without selectors."""
    return Catalog([DeviceClass(name="gpu")])


def test_a_made_up_failure_concerns_its_selector_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever evaluating a selector raises is an answer about that selector, with the place of the defect."""
    whole = Selector.answer

    def fails(self: Selector, driver: str, device: Device) -> object:
        if self.words > 4:
            raise ZeroDivisionError("made up")
        return whole(self, driver, device)

    monkeypatch.setattr(Selector, "answer", fails)
    here = catalog()
    with pytest.raises(NotEvaluatedError, match=r"selector 1 of request r: .* \(ZeroDivisionError at .*catalog.py:"):
        here.refusing(asked("1 == 2 || 1 == 4"), DRIVER, GPU)
    assert here.refusing(asked("1 == 3"), DRIVER, GPU) == "selector 1 of request r"


def test_a_selector_is_charged_once_for_equal_devices() -> None:
    """Compiling takes 5 steps a character, evaluating one a word (the end is a word). Equal devices share the answer."""
    here = catalog()
    for name in ("gpu-0", "gpu-1"):
        here.refusing(asked("true != false"), DRIVER, Device(name=name, attributes=(), capacities=()))
    assert here.steps == 5 * len("true != false") + 4


def test_the_charge_does_not_hang_on_what_was_asked_before() -> None:
    """Answers are kept for later plans. A plan is charged as if they were not, since equal inputs give equal plans."""
    first, second = catalog(), catalog()
    for here in (first, second):
        here.refusing(asked("1 != 5"), DRIVER, GPU)
    assert first.steps == second.steps > 0
