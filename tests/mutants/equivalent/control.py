"""Changes of `reconciler/control` that change nothing that anybody could see."""

_NO_PROVIDER = "a machine of no target has no provider either: the words are for the type checker"
_STOPPED = "a target of no group is held, so that the other words say so too: these are for the type checker"
EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/control/capture.py": {
        "1 -> 2 in: return 1 + len(self._listings)": "nobody asks how many there are; for `sorted` it is a hint",
        (
            "True -> False in: return Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], "
            "is_list=True)"
        ): "a head is asked for its kind and group alone",
    },
    "reconciler/control/live/leaving_nodes.py": {
        "target is None or provider is None or target not in facts -> provider is None or target not in facts": _NO_PROVIDER,
        "group is None or held or called_off -> held or called_off": _STOPPED,
    },
    "reconciler/control/live/own_writes.py": {
        "0 -> 1 in: self._awaited[one.target] = max(one.generation, self._awaited.get(one.target, 0))": (
            "a generation that is known is 1 at least"
        ),
        "0 -> 1 in: return any(0 < facts.generation < self._awaited.get(facts.ref, 0) for facts in world.targets)": (
            "no whole number is between 0 and 1"
        ),
        (
            "one.target is not None and one.state is RemovalState.FINISHED and one.generation -> "
            "one.state is RemovalState.FINISHED and one.generation"
        ): ("no target of a view is None, so that nothing waits for it"),
    },
    "reconciler/control/preflight.py": {
        '0 -> 1 in: minor = whole_number(version.minor.rstrip("+")) or 0': (
            "a version that says no number is too old either way"
        ),
    },
    "reconciler/control/policy/custom_resources.py": {
        "title.startswith('NodeGroup ') and title not in refused -> title not in refused": (
            "where the policy itself has problems, that is told instead"
        ),
        (
            "self._allow_no_groups or in_force is None or before is None or in_force.groups -> "
            "self._allow_no_groups or before is None or in_force.groups"
        ): ("without a missing policy and mistakes in it something is"),
        (
            "policy is None or policy.policy.discovery or (not (before.groups or before.policy.discovery)) -> "
            "policy.policy.discovery or not (before.groups or before.policy.discovery)"
        ): ("what was judged good can be read"),
    },
    "reconciler/control/turn/turn_report.py": {
        "0 -> 1 in: generation: int = 0": "a generation that is known is 1 at least, and nobody waits for the first",
    },
    "reconciler/control/pages/http_connection.py": {
        "0 -> 1 in: writer.transport.set_write_buffer_limits(high=0)": ("a last byte is sent as the connection is closed"),
    },
    "reconciler/control/pages/http_server.py": {
        "now < until -> now <= until": "no clock is read at the very instant of a deadline",
        "1024 -> 1025": "a queue of one more in the kernel",
    },
    "reconciler/control/pages/outlook.py": {
        "began < self._next -> began <= self._next": "no clock is read at the very instant of a deadline",
    },
    "reconciler/control/policy/policy_source.py": {
        (
            "self._policy is not None and self._policy.approvals != fetched.approvals -> "
            "self._policy.approvals != fetched.approvals"
        ): "after a look that was not refused there is a policy",
    },
    "reconciler/control/turn/announcements.py": {
        (
            "action.to > action.from_ -> action.to >= action.from_ in: "
            'ActionKind.RESIZE: "ScaledUp" if action.to > action.from_ else "ScaledDown",'
        ): ("what resizes changes the size"),
    },
    "reconciler/control/turn/decision_history.py": {
        "0 -> 1 in: self._turned = 0": "nothing is kept before the first turn that this is compared with",
    },
    "reconciler/control/saved_plans/live_apply.py": {
        "self._pause.monotonic() > deadline -> self._pause.monotonic() >= deadline": (
            "no clock is read at the very instant of a deadline"
        ),
    },
}
