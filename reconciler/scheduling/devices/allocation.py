"""The search for devices: which devices of a node the claims of a pod would get.

Source: `Allocate` of the allocator (incubating) in dynamic-resource-allocation 1.36 and 1.37. Claims, requests and devices are
taken one after the other, and the first complete solution counts. So this search looks at everything in the same order.
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.devices.resource_claim import ALL, Alternative, Constraint, DeviceRequest, DeviceToleration
from reconciler.cluster.devices.resource_slice import Device, DeviceTaint, ResourceSlice
from reconciler.cluster.values.release import DeviceRules
from reconciler.scheduling.devices.catalog import Catalog
from reconciler.scheduling.devices.constraints import Tracked
from reconciler.scheduling.devices.pools import DeviceId, Pool, reaches
from reconciler.scheduling.devices.selector_values import NotEvaluatedError
from reconciler.scheduling.devices.taken import Taken, fits_in, wanted_parts
from reconciler.scheduling.label_match import Labels

MOST_RESULTS = 32
"""So many devices one claim can have. Source: `AllocationResultsMaxSize` of resource.k8s.io/v1."""
MOST_STEPS = 100_000
"""The real search ends after ten seconds on a node. One that takes longer here is not judged."""
_DEEPEST = 200
_KEEPING_OUT = ("NoSchedule", "NoExecute")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim asks for. `name` is that of the claim."""

    name: str
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[Constraint, ...] = ()


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """One device for a request of a claim (by its index). `parts` are what it consumes of a device that others may share."""

    claim: int
    request: str
    device: DeviceId
    admin: bool = False
    parts: tuple[tuple[str, int], ...] | None = None


class AllocationError(Exception):
    """The scheduler gives up the whole attempt to place the pod, on whatever node this happens."""


class _TooManyError(Exception):
    """Any solution beyond this point would give a claim more devices than it can have."""


class _Place(msgspec.Struct, frozen=True):
    pool: Pool
    slice: ResourceSlice
    device: Device
    id: DeviceId


class _Task(msgspec.Struct, frozen=True, kw_only=True):
    """One alternative of a request. `every`: the devices of a request for all, in their order."""

    request: str
    sub: str
    asked: Alternative
    count: int
    every: tuple[_Place, ...] | None = None


class NodeAllocator:
    """Devices of one node for the claims of one pod. `taken` is what all claims of the cluster have."""

    def __init__(
        self,
        catalog: Catalog,
        pools: tuple[Pool, ...],
        taken: Taken,
        name: str,
        labels: Labels,
        claims: Sequence[Wanted],
        rules: DeviceRules,
        most_steps: int = MOST_STEPS,
    ) -> None:
        """The classes of all requests are known."""
        self._most_steps = most_steps
        self._rules = rules
        self._catalog = catalog
        self._pools = pools
        self._taken = taken
        self._name = name
        self._labels = labels
        self._claims = claims
        self._places = [_places(pool) for pool in pools]
        usable = (places for pool, places in zip(pools, self._places, strict=True) if not (pool.incomplete or pool.invalid))
        self._usable = [place for places in usable for place in places]
        self._constraints = [[Tracked(item, rules) for item in claim.constraints] for claim in claims]
        self._given: list[list[Given]] = [[] for _ in claims]
        self._taking: dict[DeviceId, set[int]] = {}
        self._taking_parts: dict[DeviceId, dict[str, int]] = {}
        self._available: dict[str, dict[str, dict[str, int]]] = {}
        self._consumed: dict[str, dict[tuple[str, str], int]] = {}
        self._parts: dict[tuple[int, DeviceId], dict[str, int] | None] = {}
        """By identity of what is asked, which the claims keep."""
        self._hopeless: dict[int, set[int]] = {}
        """By identity of what is asked, the usable places that are never taken for it."""
        self.steps = 0
        """What the search has cost so far."""

    def search(self) -> tuple[Given, ...] | None:
        """The devices; None: they cannot be had here. Raises `AllocationError`, `SelectorError` and `NotEvaluatedError`."""
        unclear = next((pool.unmodelled for pool in self._pools if pool.unmodelled), "")
        if unclear:
            raise NotEvaluatedError(unclear)
        self._tasks = [[self._tasks_of(request) for request in claim.requests] for claim in self._claims]
        deepest = 0
        for claim, tasks in zip(self._claims, self._tasks, strict=True):
            fewest = sum(min(task.count for task in several) for several in tasks)
            if fewest > MOST_RESULTS:
                raise AllocationError(f"claim {claim.name} asks for {fewest} devices, more than the limit of {MOST_RESULTS}")
            deepest += 1 + sum(2 + max(task.count for task in several) for several in tasks)
        if deepest > _DEEPEST:
            raise NotEvaluatedError(f"claims for more than {_DEEPEST} devices")
        try:
            done = self._next(0, 0, 0, 0, chosen=False, start=0)
        except _TooManyError:
            raise AllocationError(f"claim {self._claims[0].name} cannot have more than {MOST_RESULTS} devices") from None
        return tuple(one for given in self._given for one in given) if done else None

    # Requests before the search.

    def _tasks_of(self, request: DeviceRequest) -> list[_Task]:
        tasks = []
        for asked in request.alternatives:
            if asked.unmodelled:
                raise NotEvaluatedError(f"{asked.unmodelled} of request {asked.name}")
            sub = asked.name if request.first_available else ""
            every = self._every(asked) if asked.mode == ALL else None
            count = asked.count if every is None else len(every)
            tasks.append(_Task(request=request.name, sub=sub, asked=asked, count=count, every=every))
        return tasks

    def _every(self, asked: Alternative) -> tuple[_Place, ...]:
        every: list[_Place] = []
        for pool, places in zip(self._pools, self._places, strict=True):
            if pool.incomplete or pool.invalid:
                why = "is being updated" if pool.incomplete else f"is invalid ({pool.invalid})"
                raise AllocationError(f"request {asked.name} asks for all devices, and pool {pool.title} {why}")
            empty = self._rules.all_of_any_room
            every.extend(one for one in places if not self.refusing(asked, one) and self._has_parts(asked, one, empty=empty))
        return tuple(every)

    def refusing(self, asked: Alternative, place: _Place) -> str:
        """The selector that does not select the device, or `its own nodes`."""
        before = self._catalog.steps
        refusing = self._catalog.refusing(asked, place.id[0], place.device)
        self._spend(1 + self._catalog.steps - before)
        if not refusing and place.slice.per_device and not reaches(place.device.where, self._name, self._labels):
            return "its own nodes"
        return refusing

    def _has_parts(self, asked: Alternative, place: _Place, *, empty: bool = False) -> bool:
        """Whether the device has the room. `empty`: if it were free."""
        key = id(asked), place.id
        if key not in self._parts:
            self._parts[key] = wanted_parts(asked, place.device, self._rules)
        parts = self._parts[key]
        if parts is None:
            return False
        if empty:
            return fits_in(parts, place.device, _NOTHING, _NOTHING)
        taken, taking = self._taken.parts.get(place.id, _NOTHING), self._taking_parts.get(place.id, _NOTHING)
        return fits_in(parts, place.device, taken, taking)

    # The search itself.

    def _next(self, claim: int, request: int, option: int, index: int, *, chosen: bool, start: int) -> bool:
        """Whether everything from here on can be had. `chosen`: the alternative of this request is. `start` is where devices of
        this request are looked for: those before were tried with the same ones already."""
        self._spend(1)
        if claim >= len(self._claims):
            return True
        if request >= len(self._tasks[claim]):
            try:
                return self._next(claim + 1, 0, 0, 0, chosen=False, start=0)
            except _TooManyError:
                return False
        tasks = self._tasks[claim][request]
        if not chosen and self._claims[claim].requests[request].first_available:
            return self._any_of(claim, request, len(tasks))
        task = tasks[option]
        if task.every is not None and not task.every:
            return False
        if index >= task.count:
            return self._next(claim, request + 1, 0, 0, chosen=False, start=0)
        if len(self._given[claim]) + task.count - index > MOST_RESULTS:
            raise _TooManyError
        where = claim, request, option, index + 1
        if task.every is not None:
            return self._try(task, task.every[index], where, chosen=chosen, start=0, must=True)
        hopeless = self._hopeless.setdefault(id(task.asked), set())
        left = sum(at not in hopeless for at in range(start, len(self._usable)))
        for at in range(start, len(self._usable)):
            if at in hopeless:
                continue
            place = self._usable[at]
            left -= 1
            if not self._is_free(task.asked, place.id, claim):
                continue
            if self.refusing(task.asked, place) or prevents(place.device.taints, task.asked.tolerations):
                hopeless.add(at)
                continue
            # With too few devices left, nothing more can come of it, except that a selector fails.
            if left + 1 < task.count - index or not self._has_parts(task.asked, place):
                continue
            if self._try(task, place, where, chosen=chosen, start=at + 1, must=False):
                return True
        return False

    def _spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._most_steps:
            raise NotEvaluatedError(f"a search for devices of more than {self._most_steps} steps")

    def _any_of(self, claim: int, request: int, count: int) -> bool:
        too_many = True
        for option in range(count):
            try:
                done = self._next(claim, request, option, 0, chosen=True, start=0)
            except _TooManyError:
                continue
            too_many = False
            if done:
                return True
        if too_many:
            raise _TooManyError
        return False

    def _try(
        self,
        task: _Task,
        place: _Place,
        where: tuple[int, int, int, int],
        *,
        chosen: bool,
        start: int,
        must: bool,
    ) -> bool:
        """Take the device and look for the rest; what is taken is given back if the rest cannot be had."""
        claim, request, option, index = where
        if not self._is_free(task.asked, place.id, claim):
            return False
        counted = self._count(place)
        if counted is None:
            return False
        tracked: list[Tracked] = []
        done = False
        try:
            if prevents(place.device.taints, task.asked.tolerations):
                return False
            for constraint in self._constraints[claim]:
                if not constraint.add(task.request, task.sub, place.id[0], place.device):
                    if must:
                        raise AllocationError(
                            f"request {task.asked.name} asks for all devices, which its constraints do not allow"
                        )
                    return False
                tracked.append(constraint)
            if not self._has_parts(task.asked, place):
                return False
            before = self._hold(task, place, claim)
            try:
                done = self._next(claim, request, option, index, chosen=chosen, start=start)
            finally:
                if not done:
                    self._release(place, claim, before)
            return done
        finally:
            if not done:
                for constraint in reversed(tracked):
                    constraint.remove(task.request, task.sub)
                if counted:
                    self._uncount(place)

    def _hold(self, task: _Task, place: _Place, claim: int) -> dict[str, int] | None:
        parts = self._parts[id(task.asked), place.id] if place.device.multiple else None
        before = self._taking_parts.get(place.id)
        if parts is None:
            self._taking.setdefault(place.id, set()).add(claim)
        else:
            held = before or _NOTHING
            self._taking_parts[place.id] = {name: held.get(name, 0) + milli for name, milli in parts.items()}
        named = f"{task.request}/{task.sub}" if task.sub else task.request
        shared = None if parts is None else tuple(parts.items())
        self._given[claim].append(Given(claim=claim, request=named, device=place.id, admin=task.asked.admin, parts=shared))
        return before

    def _release(self, place: _Place, claim: int, before: dict[str, int] | None) -> None:
        self._given[claim].pop()
        if not place.device.multiple:
            self._taking[place.id].discard(claim)
        elif before is None:
            del self._taking_parts[place.id]
        else:
            self._taking_parts[place.id] = before

    def _is_free(self, asked: Alternative, device: DeviceId, claim: int) -> bool:
        # Devices that several claims may have parts of are never among those that are being taken as a whole.
        taking = self._taking.get(device)
        if asked.admin:
            return not taking or claim not in taking
        return device not in self._taken.whole and not taking

    # Counters that devices of a pool share.

    def _count(self, place: _Place) -> bool | None:
        """Consume the counters of a device. False: it needs none now. None: too little is left."""
        device, pool = place.device, place.pool
        shares = self._taken.shared if self._rules.shares_in_use else ()
        in_use = place.id in self._taken.parts or place.id in shares or place.id in self._taking_parts
        if not device.counters or (device.multiple and in_use):
            return False
        available = self._counters(pool)
        consumed = self._consumed.setdefault(pool.name, {})
        for name, counters in device.counters:
            for counter, milli in counters:
                consumed[name, counter] = consumed.get((name, counter), 0) + milli
        for name, left in available.items():
            if any(milli < consumed.get((name, counter), 0) for counter, milli in left.items()):
                self._uncount(place)
                return None
        return True

    def _uncount(self, place: _Place) -> None:
        consumed = self._consumed[place.pool.name]
        for name, counters in place.device.counters:
            for counter, milli in counters:
                consumed[name, counter] -= milli

    def _counters(self, pool: Pool) -> dict[str, dict[str, int]]:
        """What allocated devices leave of the counters of a pool."""
        known = self._available.get(pool.name)
        if known is None:
            known = self._available[pool.name] = {name: dict(counters) for name, counters in pool.counter_sets}
            for item in (*pool.slices, *pool.elsewhere):
                for device in item.devices:
                    if device.counters and self._taken.has(pool.device_id(device)):
                        for name, counters in device.counters:
                            for counter, milli in counters:
                                known[name][counter] -= milli
        return known

    # Why there is no solution.

    def shortage(self) -> str:
        """What the first request lacks that cannot be met even alone, as a phrase."""
        for claim, tasks in zip(self._claims, self._tasks, strict=True):
            for several in tasks:
                said = [self._shortage_of(task) for task in several]
                if all(said):
                    return f"claim {claim.name}: {' or '.join(said)}"
        return f"its claims ({', '.join(claim.name for claim in self._claims)}) cannot be met together"

    def _shortage_of(self, task: _Task) -> str:
        """Why one alternative cannot be met; empty: alone it could."""
        refused: dict[str, int] = {}
        usable = total = 0
        for pool, places in zip(self._pools, self._places, strict=True):
            if pool.incomplete or pool.invalid:
                what = "incomplete" if pool.incomplete else f"invalid ({pool.invalid})"
                refused[f"pool {pool.title} is {what}"] = 0
                continue
            for place in places:
                total += 1
                why = self._obstacle(task.asked, place)
                usable += not why
                if why:
                    refused[why] = refused.get(why, 0) + 1
        needed = max(1, task.count)
        if usable >= needed:
            return ""
        named = f"{task.request}/{task.sub}" if task.sub else task.request
        reasons = ", ".join(f"{count} {why}" if count else why for why, count in sorted(refused.items()))
        return f"request {named} needs {needed} of {total} devices here, {usable} can be had{f' ({reasons})' if reasons else ''}"

    def _obstacle(self, asked: Alternative, place: _Place) -> str:
        refusing = self.refusing(asked, place)
        if refusing:
            return f"not selected by {refusing}"
        if not asked.admin and place.id in self._taken.whole:
            return "allocated"
        if prevents(place.device.taints, asked.tolerations):
            return "tainted"
        if not self._has_parts(asked, place):
            return "without enough capacity"
        counted = self._count(place)
        if counted:
            self._uncount(place)
        return "without enough counters" if counted is None else ""


_NOTHING: Mapping[str, int] = {}


def _places(pool: Pool) -> tuple[_Place, ...]:
    return tuple(_Place(pool, item, device, pool.device_id(device)) for item in pool.slices for device in item.devices)


def prevents(taints: Sequence[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Does a taint of a device keep a request away? Source: `taintPreventsAllocation` and `ToleratesTaint`."""
    return any(taint.effect in _KEEPING_OUT and not any(_tolerates(one, taint) for one in tolerations) for taint in taints)


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
