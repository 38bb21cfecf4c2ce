"""What `doctor` finds about Crusoe: the credentials, the pools, the rights to read, and what nobody has tried yet."""

from collections.abc import Callable, Iterator

from reconciler.platforms.crusoe.facts.view import KEEPS, TRIMS
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.credentials import LOWERING, ORGANIZATION
from reconciler.platforms.crusoe.writing.polling import named
from reconciler.policy.documents import PolicySet
from reconciler.providers.findings import Check, State

_CODE = "Crusoe"


def checks(account: Account, policy: PolicySet | None) -> Iterator[Check]:
    """One round of the loop's reads. Nothing is written, so only the first write shows whether writes are allowed."""
    if policy is None or not named(policy):
        return
    try:
        pools = account.pools()
        lowering = account.lowering
    except CrusoeError as error:
        yield Check(code=_CODE, state=State.FAIL, message=f"node pools: {error}", advice=_advice(error))
        return
    yield Check(code=_CODE, state=State.PASS, message=f"{NODE_POOL}s read: {len(pools)}")
    there = {str(pool.get("name")) for pool in pools}
    for name in sorted({group.target.name for group in policy.groups if group.target.provider == "crusoe"} - there):
        yield Check(
            code=_CODE,
            state=State.FAIL,
            message=f"cannot find node pool {name}",
            advice="check spec.target.crusoe of its NodeGroup",
        )
    types = sorted({str(pool.get("type")) for pool in pools if pool.get("type")})
    for what, ask in (
        ("quotas", account.quotas),
        ("capacities", lambda: account.capacities(types)),
        ("operations on node pools", account.operations),
        ("operations of AutoClusters", account.remediations),
        ("machine types", account.machine_types),
    ):
        yield from _right(what, ask)
    yield from _reservations(account)
    yield from _lowering(lowering)
    yield Check(
        code=_CODE,
        state=State.WARN,
        message="experimental: the calls that size node pools of Crusoe were tried only on a server of our own",
        advice="go through the checklist of examples/crusoe before mode Enforce",
    )


def _right(what: str, ask: Callable[[], object]) -> Iterator[Check]:
    try:
        ask()
    except CrusoeError as error:
        yield Check(code=_CODE, state=State.WARN, message=f"{what} cannot be read: {error}", advice=_advice(error))


def _reservations(account: Account) -> Iterator[Check]:
    try:
        reservations = account.reservations()
    except CrusoeError as error:
        yield Check(code=_CODE, state=State.WARN, message=f"reservations cannot be read: {error}", advice=_advice(error))
        return
    if reservations is None:
        yield Check(
            code=_CODE,
            state=State.WARN,
            message=f"{ORGANIZATION} is not set: the room in reservations is unknown, so the loop has no ceiling for them",
            advice="set it, or write a limit with max nodes over the groups of a reservation",
        )


def _lowering(lowering: str) -> Iterator[Check]:
    if lowering == KEEPS:
        return
    message = (
        "lowering a count deletes machines here, so the loop removes no node"
        if lowering == TRIMS
        else f"{LOWERING} is neither {KEEPS} nor {TRIMS}, so the loop removes no node"
    )
    yield Check(code=_CODE, state=State.WARN, message=message, advice="see the first line of the checklist of examples/crusoe")


def _advice(error: CrusoeError) -> str:
    if error.code == "NoCredentials":
        return "set the variables, or mount them as files"
    return "allow this user to read it" if error.denied else "check the network and the state of Crusoe"
