"""Node pools for one decision: those that policies name, or those that belong to the cluster.

The process's credentials name one Crusoe cluster. If no policy requests its pools, they count only if one of their machines is
a node here. A person with two clusters may look at one with the credentials of the other.
"""

from reconciler.cluster.targets.machine_rows import normalized_provider_id
from reconciler.platforms.crusoe.facts.pool import PROVIDER_ID
from reconciler.platforms.crusoe.kinds import NODE_POOL
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.asking import Known
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import InMemoryKeeper, Notes
from reconciler.platforms.crusoe.writing.polling import named
from reconciler.providers.cloud_answers import CloudAnswer, CloudError, CloudQuestion
from reconciler.values.decoding import convert

_WHOSE = "node pools of Crusoe (those of this cluster's nodes)"


def ask_once(account: Account, question: CloudQuestion) -> CloudAnswer:
    """Pools that no policy asks for are left out and reported if they cannot be read. Raises `CloudError` for the others."""
    asked = any(named(policy) for policy in question.policies)
    if not asked and not question.own:
        return CloudAnswer()
    known = Known(account, Notes(InMemoryKeeper()))
    try:
        known.ask(0)
    except CrusoeError as error:
        if asked:
            raise CloudError(f"node pools of Crusoe: {error}") from None
        return CloudAnswer(unread=(f"{_WHOSE}: {error}",))
    pools = known.items()[NODE_POOL]
    if not asked and not _here(pools, question.provider_ids):
        problem = f"{_WHOSE}: left out, because no machine of the {len(pools)} that these credentials show is a node here"
        return CloudAnswer(unread=(problem,) if pools else ())
    return CloudAnswer(documents=known.documents(), unread=known.problems)


def _here(pools: list[dict[str, object]], provider_ids: tuple[str, ...]) -> bool:
    """Whether a machine of one of the pools is a node of the cluster."""
    nodes = {normalized_provider_id(one).lower() for one in provider_ids if one.startswith(PROVIDER_ID)}
    machines = (name for pool in pools for name in convert(pool.get("instance_ids") or [], list[str]))
    return any(name.lower() in nodes for name in machines)
