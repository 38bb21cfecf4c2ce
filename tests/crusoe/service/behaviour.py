"""What the platform does by itself while time passes: it keeps as many machines running as each count says.

SOURCE: the behaviour that is documented or told of: a machine that is stopped or deleted is missing, and another one takes its
place, in its reservation too. Whether a lower count deletes machines is a switch, since nobody has told.
"""

from tests.crusoe.service.state import Account, Machine, Pool

NO_STOCK = "out of stock"


def advance(account: Account, seconds: float) -> None:
    """Time passes, in steps short enough that nothing is passed over."""
    end = account.now + seconds
    settle(account)
    while account.now < end:
        account.now = min(end, account.now + 5)
        settle(account)


def settle(account: Account) -> None:
    """Everything that is due now."""
    for machine in list(account.machines.values()):
        _moved_on(account, machine)
    for pool in account.pools.values():
        if pool.state == "RUNNING":
            _grow(account, pool)
            _trim(account, pool)
    ended = [name for name, one in account.operations.items() if account.now >= one.ends_at + account.operation_life]
    for name in ended:
        del account.operations[name]


def _moved_on(account: Account, machine: Machine) -> None:
    if account.now < machine.changes_at:
        return
    if machine.state == "DEFINING":
        machine.state = "RUNNING"
        for told in account.joined:
            told(machine)
    elif machine.state == "DELETING":
        del account.machines[machine.id]
        for told in account.gone:
            told(machine)


def _grow(account: Account, pool: Pool) -> None:
    if len(account.counted(pool)) >= pool.count:
        pool.short_since = pool.issue_since = None
        return
    if pool.short_since is None:
        pool.short_since = account.now
    if account.now - pool.short_since < account.replaces_after:
        return
    while len(account.counted(pool)) < pool.count:
        if not account.has_room(pool):
            if pool.issue_since is None:
                pool.issue_since, pool.issue = account.now, NO_STOCK
            return
        if not pool.reservation and pool.type in account.stock:
            account.stock[pool.type] -= 1
        account.made(pool)
    pool.issue_since = None


def _trim(account: Account, pool: Pool) -> None:
    """The oldest go first."""
    if not account.trims or account.now - pool.updated_at < account.trims_after:
        return
    for machine in account.counted(pool)[: max(0, len(account.counted(pool)) - pool.count)]:
        account.trimmed.append(machine.id)
        delete(account, machine)


def delete(account: Account, machine: Machine) -> None:
    """A machine begins to leave."""
    machine.state, machine.changes_at = "DELETING", account.now + account.deletes_after


def stop(account: Account, machine: Machine) -> None:
    """It stops, and its room is free."""
    machine.state = "SHUTOFF"
    settle(account)


def start(account: Account, machine: Machine) -> bool:
    """Back where it was, if there is room still."""
    if not account.has_room(account.pools[machine.pool]):
        return False
    machine.state = "RUNNING"
    return True
