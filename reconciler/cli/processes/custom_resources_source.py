"""The options of a live loop whose policy is custom resources."""

import time
from typing import TYPE_CHECKING

from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.outputs.failure import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.control.policy.custom_source import CustomResourceSource
    from reconciler.control.policy.custom_status import CustomStatus
    from reconciler.control.policy.stored_policy import Parts
    from reconciler.gitops.sources.standing import SourceEvent, Standing
    from reconciler.kube.connection.api import Api


POLL_SECONDS, FIRST_LIST_SECONDS = 60.0, 10.0


class ClusterSource:
    """The NodeGroupPolicy and the NodeGroups of a cluster, the latter of some namespaces (none named: of all)."""

    def __init__(
        self,
        api: "Api",
        namespaces: tuple[str, ...],
        choice: SourceChoice,
        *,
        own_namespace: str,
        keep: bool,
        tell: "Callable[[SourceEvent], None]",
    ) -> None:
        """`own_namespace` is where the reconciler runs; `keep`: the last good policy outlasts this process; `tell` is
        given what happens."""
        from reconciler.kube.custom.custom_object import CustomObjects

        self.waits_for = "the custom resources were not read yet"
        self.awaited = False
        """Whether they were read, and only the policy is still missing."""
        self._choice = choice
        self._own_namespace = own_namespace
        self._keep = keep
        self._tell = tell
        self._objects = CustomObjects(api, namespaces)
        self._followed: CustomResourceSource | None = None

    def policy_name(
        self, wait: "Callable[[float], bool] | None", kept: "Callable[[str], tuple[str, ...]]" = lambda _: ()
    ) -> str | None:
        """The name that --name gives, else that of the only policy in the cluster.

        If no policy is there yet, `wait` waits so many seconds. It returns true if the process is to end; the result is then
        None. Without `wait`, a cluster without a policy is an `InputError`. `kept` gives the policies that were in force from
        custom resources. If the cluster has none any more and `kept` exactly one, that one goes on, as with --name.
        """
        from reconciler.control.policy.custom_resources import SOURCE
        from reconciler.gitops.git.fault import FaultCode
        from reconciler.gitops.sources.standing import SourceEvent

        if self._choice.policy_name:
            return self._choice.policy_name
        self._objects.start()
        reported = ""
        while True:
            self._objects.wait(FIRST_LIST_SECONDS)
            names = sorted(item.name for item in self._objects.all() if item.kind == "NodeGroupPolicy")
            if len(names) > 1:
                raise InputError(f"the cluster has several NodeGroupPolicies: choose one with --name ({', '.join(names)})")
            why = self._objects.doubt() or ("" if names else "there is no NodeGroupPolicy in the cluster")
            if not why:
                return names[0]
            before = kept(SOURCE) if self._keep and not self._objects.doubt() else ()
            if len(before) == 1:
                return before[0]
            self.waits_for, self.awaited = why, not self._objects.doubt()
            if wait is None:
                raise InputError(f"--custom-resources: {why}")
            if why != reported:
                reported = why
                self._tell(
                    SourceEvent(type="Warning", reason=FaultCode.NO_POLICY.value, message=f"{why}. The loop waits for one")
                )
            if wait(FIRST_LIST_SECONDS / 2):
                return None

    def follow(
        self, name: str, state: "Parts", term: "Callable[[], int]", looked: "Callable[[Standing], None]"
    ) -> "CustomResourceSource":
        """The source as a live process takes it."""
        import random

        from reconciler.control.policy.custom_resources import CustomResourcePolicy
        from reconciler.control.policy.custom_source import CustomResourceSource
        from reconciler.control.policy.stored_policy import FileBesideState, StateLastGoodStore
        from reconciler.gitops.sources.last_good import FileLastGoodStore, LastGoodStore, MemoryLastGoodStore
        from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds

        store: LastGoodStore = StateLastGoodStore(state) if self._keep else MemoryLastGoodStore()
        if self._choice.last_good is not None:
            file = FileLastGoodStore(self._choice.last_good)
            store = FileBesideState(file, store) if self._keep else file
        polling = Polling(interval_seconds=POLL_SECONDS)
        chance = random.Random()  # noqa: S311 - spreads requests, keeps no secret

        def policy() -> CustomResourcePolicy:
            return CustomResourcePolicy(
                self._objects, store, lambda: int(time.time()), name=name,
                own_namespace=self._own_namespace, allow_no_groups=self._choice.allow_no_groups,
                tell=self._tell,
            )  # fmt: skip

        self._followed = CustomResourceSource(
            self._objects,
            policy,
            term,
            lambda failures: next_wait_seconds(polling, failures, chance.random()),
            (looked,),
            self._tell,
        )
        return self._followed

    def status_on(self, api: "Api", identity: str, leads: "Callable[[], bool]") -> "CustomStatus":
        """What tells on the objects that `follow` follows, through a connection that writes while this process leads."""
        from reconciler.control.policy.custom_status import CustomStatus
        from reconciler.kube.custom.status import StatusWriter
        from reconciler.kube.leading.events import EventRecorder

        followed = self._followed
        if followed is None:
            raise RuntimeError("nothing is followed yet")
        status = CustomStatus(
            self._objects, lambda: followed.policy, StatusWriter(api), EventRecorder(api, identity, time.time),
            clock=lambda: int(time.time()), leads=leads,
        )  # fmt: skip
        followed.looked_too = status.write
        return status
