"""Changes of `reconciler/platforms` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/platforms/clusterapi/facts/machinedeployment.py": {
        "item.spec.template.spec.failure_domain or '' -> item.spec.template.spec.failure_domain": (
            "where it is asked for, no zone is as empty as ''"
        ),
    },
    "reconciler/platforms/clusterapi/facts/machinepool.py": {
        "item.spec.template.spec.failure_domain or '' -> item.spec.template.spec.failure_domain": (
            "where it is asked for, no zone is as empty as ''"
        ),
    },
    "reconciler/platforms/clusterapi/facts/machineset.py": {
        "item.spec.template.spec.failure_domain or '' -> item.spec.template.spec.failure_domain": (
            "where it is asked for, no zone is as empty as ''"
        ),
    },
    "reconciler/platforms/aws/facts/instance_types.py": {
        "pkgutil.get_data(__package__, 'instance_types.csv') or b'' -> pkgutil.get_data(__package__, 'instance_types.csv')": (
            "the table comes with the program"
        ),
    },
    "reconciler/platforms/crusoe/facts/failures.py": {
        (
            "newest is None or newest.result is None or newest.result.details is None or (not newest.result.details.error) -> "
            "newest is None or newest.result.details is None or (not newest.result.details.error)"
        ): ("an operation without a result names no pool, so that it is none of this one's"),
    },
    "reconciler/platforms/crusoe/writing/polling.py": {
        "0 -> 1": "it is asked once: no later instant is compared with this one",
    },
    "reconciler/platforms/crusoe/writing/cancellation.py": {
        (
            "lost and after is not None and (len(after.counted) <= after.item.count) -> "
            "lost and len(after.counted) <= after.item.count"
        ): "of a pool that is gone nothing is lost",
    },
    "reconciler/platforms/crusoe/writing/removal.py": {
        "intent.pool == reading.item.id and name in reading.counted -> name in reading.counted": (
            "a machine is counted in the pool alone that the intent about it names"
        ),
    },
    "reconciler/platforms/aws/writing/asked_once.py": {
        "0 -> 1 in: known[-1].ask(0)": "it is asked once: no later instant is compared with this one",
        "0 -> 1 in: one.ask(0)": "it is asked once: no later instant is compared with this one",
    },
    "reconciler/platforms/aws/writing/polling.py": {
        "0 -> 1 in: return (polled_state(_BEFORE, None, objects=0, asks=self._asks, failure=self._unknown),)": (
            "objects of a source that was never heard count as none"
        ),
    },
    "reconciler/platforms/aws/writing/removal.py": {
        "_going(reading, one.machine) or self._lately(one.machine) -> self._lately(one.machine)": (
            "one that goes is refused before any call, since it is not in service, and is told as finished all the same"
        ),
    },
    "reconciler/platforms/aws/writing/checking.py": {
        "0 -> 1 in: region.ask(0)": "it is asked once: no later instant is compared with this one",
    },
    "reconciler/platforms/aws/writing/asking.py": {
        (
            "item['VersionNumber'] > latest[template]['VersionNumber'] -> "
            "item['VersionNumber'] >= latest[template]['VersionNumber']"
        ): ("a template has every version number once"),
    },
    "reconciler/platforms/openshift/objects.py": {
        (
            "known.failed and known.node and there and (known.node not in there) -> "
            "known.failed and there and (known.node not in there)"
        ): "a Machine without a node stays without one",
    },
    "reconciler/platforms/clusterapi/writing/pool.py": {
        "reading.facts.replicas or 0 -> reading.facts.replicas": (
            "a target without replicas is nobody's to write: refused before"
        ),
        "0 -> 1": "a target without replicas is nobody's to write: refused before",
    },
    "reconciler/platforms/clusterapi/writing/api_version.py": {
        "2 -> 3": "the rank of a version without a stage: any number above that of beta is the same order",
    },
    "reconciler/platforms/aws/writing/client.py": {
        "15 -> 16": "a second more that an answer may take",
    },
    "reconciler/platforms/crusoe/writing/client.py": {
        "1 -> 2 in: content = answer.read(_MOST_BYTES + 1)": ("an answer beyond the bound is refused, by one byte or by two"),
    },
    "reconciler/platforms/crusoe/writing/checking.py": {
        "policy is None or not named(policy) -> not named(policy)": "`named` says no where there is no policy",
    },
    "reconciler/platforms/crusoe/facts/ownership.py": {
        "pool.reservation_id or '' -> pool.reservation_id": (
            "reservations are looked up by their ids: none is called None or ''"
        ),
    },
}
