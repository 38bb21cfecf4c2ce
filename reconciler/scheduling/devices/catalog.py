"""Which devices a request selects, by class and selectors. Each selector is compiled once, and asked once for equal devices.

Tenants write selectors. Whatever goes wrong with one is an answer about it, and its steps are counted.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from reconciler.cluster.devices.device_class import DeviceClass
from reconciler.cluster.devices.resource_claim import Alternative
from reconciler.cluster.devices.resource_slice import Device
from reconciler.scheduling.devices.selector_values import NotEvaluatedError, SelectorError
from reconciler.values.defect import defect_text
from reconciler.values.later import Later

if TYPE_CHECKING:
    from reconciler.scheduling.devices import selectors
else:
    selectors = Later("reconciler.scheduling.devices.selectors")

_KEPT_SELECTORS, _KEPT_ANSWERS = 1024, 1 << 15
_STEPS_A_CHARACTER = 5
"""So much it takes to compile one character of an expression."""


class Catalog:
    """The device classes of a cluster, and what their selectors said so far."""

    def __init__(self, classes: Iterable[DeviceClass]) -> None:
        self.classes: Mapping[str, DeviceClass] = {item.name: item for item in classes}
        self.served = served_resources(self.classes.values())
        self.steps = 0
        """What selectors have cost so far."""
        self._compiled: set[str] = set()
        self._forms: dict[tuple[object, ...], int] = {}
        # By identity: a device stays as it is as long as it is kept here, and to hash one is to read all of it.
        self._form_of: dict[int, tuple[Device, int]] = {}
        self._known: dict[tuple[str, int], bool | SelectorError | NotEvaluatedError] = {}

    def refusing(self, request: Alternative, driver: str, device: Device) -> str:
        """The first selector that does not select the device, such as `selector 1 of DeviceClass gpu`; empty: all select it.

        Raises `SelectorError`, and `NotEvaluatedError` with the selector's place.
        """
        if device.unmodelled:
            raise NotEvaluatedError(f"{device.unmodelled} of device {device.name}")
        form = self._form(driver, device)
        of_class = () if request.device_class in device.classes else self.classes[request.device_class].selectors
        for number, expression in enumerate(of_class, 1):
            if not self._says(expression, form, driver, device, f"selector {number} of DeviceClass {request.device_class}"):
                return f"selector {number} of DeviceClass {request.device_class}"
        for number, expression in enumerate(request.selectors, 1):
            if not self._says(expression, form, driver, device, f"selector {number} of request {request.name}"):
                return f"selector {number} of request {request.name}"
        return ""

    def _says(self, expression: str, form: int, driver: str, device: Device, place: str) -> bool:
        known = self._known.get((expression, form))
        if known is None:
            known = self._known[expression, form] = self._judged(expression, driver, device)
        if isinstance(known, bool):
            return known
        raise type(known)(f"{place}: {known}")

    def _judged(self, expression: str, driver: str, device: Device) -> bool | SelectorError | NotEvaluatedError:
        # Counted as if nothing were kept from earlier plans: steps must not hang on what this process did before.
        if expression not in self._compiled:
            self._compiled.add(expression)
            self.steps += len(expression) * _STEPS_A_CHARACTER
        form = Device(name="", attributes=device.attributes, capacities=device.capacities, multiple=device.multiple)
        answer = _answer(expression, driver, form)
        self.steps += answer.steps
        return answer.said

    def _form(self, driver: str, device: Device) -> int:
        known = self._form_of.get(id(device))
        if known is None:
            content = driver, device.attributes, device.capacities, device.multiple
            known = self._form_of[id(device)] = device, self._forms.setdefault(content, len(self._forms))
        return known[1]


@lru_cache(maxsize=_KEPT_ANSWERS)
def _answer(expression: str, driver: str, device: Device) -> "selectors.Answer":
    try:
        return _compiled(expression).answer(driver, device)
    except NotEvaluatedError as error:
        return selectors.Answer(error.with_traceback(None), 0)
    except Exception as error:
        # Whatever somebody writes into a selector is a matter of that selector alone.
        return selectors.Answer(NotEvaluatedError(defect_text(error)), 0)


@lru_cache(maxsize=_KEPT_SELECTORS)
def _compiled(expression: str) -> "selectors.Selector":
    return selectors.Selector(expression)


def served_resources(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The class that serves an extended resource, by its name. Of several the newest does, then the first by name.

    Source: `ExtendedResourceCache` of dynamic-resource-allocation 1.36.
    """
    served: dict[str, str] = {}
    for item in sorted(classes, key=lambda one: (-one.created_seconds, one.name)):
        if item.extended_resource:
            served.setdefault(item.extended_resource, item.name)
    for item in classes:
        served[item.implicit_resource] = item.name
    return served
