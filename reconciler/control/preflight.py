"""What must be true of a live cluster before the loop runs on it, asked of the cluster itself. Only reads and reviews."""

from typing import Protocol

import msgspec

from reconciler.cluster.world import World
from reconciler.control.bounds_check import SHOWN, bounds_check
from reconciler.control.needed_rights import READ, Right, RunMode, missing, needed
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.other_policies import shared_targets
from reconciler.decisions.provisioning import not_answered
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import (
    BUFFERS,
    QUOTAS,
    REQUESTS,
    Collection,
    Served,
    cluster_api,
    located,
)
from reconciler.policy.documents import API_VERSION, PolicySet, QuotaReading
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import Surroundings, live_platforms, of_platform
from reconciler.scheduling.default_spread import needs_services
from reconciler.values.clauses import clauses
from reconciler.values.decoding import decode
from reconciler.values.feature_gate import NEWEST_MINOR
from reconciler.values.instant import instant_text
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number

OLDEST_MINOR = 30
"""Kubernetes 1.30 serves all that is asked of it, admission policies included."""
CLOCK_SECONDS = 30
BACK_SECONDS = 600
"""A node that joins so soon after our removal was asked for by somebody else, when we asked for none since."""
_KARPENTER = "karpenter"
_PREFLIGHT_NOT_FOUND = 404


class Clocked(Api, Protocol):
    """An `Api` that knows the server's time."""

    def server_seconds(self) -> int | None:
        """Unix time by the server's clock; None when it does not say."""


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks look at. `world` and `memory` are of this cluster; `namespace` is where Lease and state lie."""

    workload: Clocked
    management: Clocked
    served: tuple[Served, ...]
    mode: RunMode
    namespace: str
    target_namespaces: tuple[str, ...]
    templates: tuple[tuple[str, str], ...]
    world: World
    memory: Memory
    now_seconds: float
    policy: PolicySet | None = None

    def checks(self) -> tuple[Check, ...]:
        """All of them, in this order. Raises `ApiError` for what no check expects, and `UnreachableError`."""
        return (
            self._server_version(),
            *self._platforms(),
            self._rights(),
            self._namespace(),
            self._clock(),
            self._custom_resources(),
            *self._quotas(),
            *self._buffers(),
            *self._requests(),
            self._other_autoscalers(),
            self._other_policies(),
            self._nodes_come_back(),
            *self._bounds(),
        )

    def _server_version(self) -> Check:
        """SOURCE: row S50, where an autoscaler belongs to one minor version of its cluster; here a range is stated."""
        version = decode(self.workload.get("/version"), _Version)
        minor = whole_number(version.minor.rstrip("+")) or 0
        code, words = "ServerVersion", f"Kubernetes {version.git_version}"
        if version.major != "1" or minor > NEWEST_MINOR:
            advice = f"1.{OLDEST_MINOR} to 1.{NEWEST_MINOR} are supported. A newer release of reconciler may know it"
            return Check(
                code=code, state=State.WARN, message=f"{words} is newer than any this release was tested on", advice=advice
            )
        if minor < OLDEST_MINOR:
            return Check(
                code=code, state=State.FAIL, message=f"{words} is too old", advice=f"1.{OLDEST_MINOR} is the oldest supported"
            )
        return Check(code=code, state=State.PASS, message=f"{words}, and 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR} are supported")

    def _platforms(self) -> tuple[Check, ...]:
        """What each platform that is there has found; where there is none, that."""
        around = Surroundings(
            management=self.management, served=self.served, namespaces=self.target_namespaces, policy=lambda: self.policy
        )
        there = [(one, own) for one in live_platforms() if (own := of_platform(one, around)) is not None]
        results = tuple(check for one, own in there for check in one.checks(own))
        return results or tuple(one.absent for one in live_platforms() if one.absent is not None)

    def _rights(self) -> Check:
        """SOURCE: row S10, preflight of permissions by SelfSubjectAccessReview."""
        asked = needed(
            self.mode,
            self.served or (cluster_api(),),
            self.namespace,
            self.target_namespaces,
            self.templates,
            services=self.policy is not None and needs_services(self.policy.policy),
            apart=self.workload is not self.management,
        )
        without = missing(self.workload, self.management, asked)
        if not without:
            return Check(code="Rights", state=State.PASS, message=f"all rights that {self.mode} needs are there")
        state = State.WARN if all(right.optional for right in without) else State.FAIL
        named = clauses(f"{right}{f' (for {right.optional})' if right.optional else ''}" for right in without)
        return Check(
            code="Rights",
            state=state,
            message=f"{self.mode} needs, and we may not: {named}",
            advice="bind the role of that mode, or check another with --mode",
        )

    def _namespace(self) -> Check:
        if self.mode is RunMode.READ_ONLY:
            return Check(code="Namespace", state=State.PASS, message="nothing is kept in a cluster that is only read")
        try:
            self.management.get(f"/api/v1/namespaces/{self.namespace}")
        except ApiError as error:
            if error.status != _PREFLIGHT_NOT_FOUND:
                return Check(code="Namespace", state=State.WARN, message=f"namespace {self.namespace}: {error.message}")
            return Check(
                code="Namespace",
                state=State.FAIL,
                message=f"namespace {self.namespace}, for Lease and state, is not there",
                advice=f"kubectl create namespace {self.namespace}, or name another with --namespace",
            )
        return Check(code="Namespace", state=State.PASS, message=f"Lease and state go to namespace {self.namespace}")

    def _clock(self) -> Check:
        servers = [self.workload] if self.workload is self.management else [self.workload, self.management]
        instants = [seconds for api in servers if (seconds := api.server_seconds()) is not None]
        apart = max((abs(seconds - int(self.now_seconds)) for seconds in instants), default=0)
        if not instants:
            return Check(code="Clock", state=State.WARN, message="the API server does not tell its time")
        if apart > CLOCK_SECONDS:
            return Check(
                code="Clock",
                state=State.WARN,
                message=f"our clock and the API server's are {apart} s apart, and ages are counted across both",
                advice="synchronize them (NTP)",
            )
        return Check(code="Clock", state=State.PASS, message=f"our clock and the API server's differ by {apart} s")

    def _custom_resources(self) -> Check:
        try:
            self.management.get(f"/apis/{API_VERSION}")
        except ApiError as error:
            if error.status != _PREFLIGHT_NOT_FOUND:
                raise
            message = f"{API_VERSION} is not served: policies are read from git or a directory only, and no status is shown"
            advice = "reconciler schema crds | kubectl apply --server-side -f -"
            return Check(code="CustomResources", state=State.WARN, message=message, advice=advice)
        return Check(code="CustomResources", state=State.PASS, message=f"{API_VERSION} is served")

    def _quotas(self) -> tuple[Check, ...]:
        """Whether the CapacityQuotas that the policy makes limits can be read."""
        if self.policy is None or self.policy.policy.limits_from.capacity_quotas is QuotaReading.IGNORE:
            return ()
        code = "CapacityQuotas"
        right = Right(group=QUOTAS.group, resource=QUOTAS.plural, verbs=READ)
        if missing(self.workload, self.management, (right,)):
            message = f"limitsFrom.capacityQuotas is Read, and we may not {right}: no group grows"
            return (Check(code=code, state=State.FAIL, message=message, advice="bind the roles of this release"),)
        try:
            self.workload.get(f"/apis/{QUOTAS.group}")
        except ApiError as error:
            if error.status != _PREFLIGHT_NOT_FOUND:
                raise
            message = f"limitsFrom.capacityQuotas is Read, and {QUOTAS.kind} is not served: only limits of the policy apply"
            advice = "install the CustomResourceDefinition of the Cluster Autoscaler, or set limitsFrom.capacityQuotas: Ignore"
            return (Check(code=code, state=State.WARN, message=message, advice=advice),)
        unknown = tuple(quota for quota in self.world.quotas if quota.problem)
        if unknown:
            named = clauses(f"{QUOTAS.kind} {quota.name}: {quota.problem}" for quota in unknown[:SHOWN])
            return (Check(code=code, state=State.FAIL, message=f"no group grows: {named}", advice="correct or delete them"),)
        return (Check(code=code, state=State.PASS, message=f"{count_text(len(self.world.quotas), QUOTAS.kind)} can be read"),)

    def _buffers(self) -> tuple[Check, ...]:
        """Whether the CapacityBuffers that the policy makes headroom can be read and answered."""
        if self.policy is None or not self.policy.policy.headroom_from.reads_buffers:
            return ()
        refused = tuple((one.key, one.problem) for one in self.world.buffers if one.code is not None)
        only = "only headroom of the policy applies"
        return self._asking("headroomFrom.capacityBuffers", BUFFERS, only, len(self.world.buffers), refused)

    def _requests(self) -> tuple[Check, ...]:
        """Whether the ProvisioningRequests that the policy answers can be read and answered."""
        if self.policy is None or not self.policy.policy.requests_from.reads_requests:
            return ()
        rules = self.policy.policy
        wanting = [one for one in self.world.provisioning_requests if not one.over]
        judged = [(one.key, not_answered(one, rules)) for one in wanting]
        refused = tuple((key, why.sentence()) for key, why in judged if why is not None)
        only = "nodes are added only for pods that exist"
        return self._asking("requestsFrom.provisioningRequests", REQUESTS, only, len(wanting), refused)

    def _asking(
        self, field: str, collections: tuple[Collection, ...], only: str, number: int, refused: tuple[tuple[str, str], ...]
    ) -> tuple[Check, ...]:
        """Of a kind whose objects ask for room, the first of `collections`, that the policy reads by `field`. There are `number`
        of them. `refused` are those that get no room, and why."""
        objects = collections[0]
        code = f"{objects.kind}s"
        rights = [Right(group=one.group, resource=one.plural, verbs=READ) for one in collections]
        if self.mode is RunMode.ENFORCE:
            rights.append(Right(group=objects.group, resource=f"{objects.plural}/status", verbs=("patch",)))
        if without := missing(self.workload, self.management, tuple(rights)):
            named = clauses(map(str, without))
            message = f"{field} is Read, and we may not: {named}"
            return (Check(code=code, state=State.FAIL, message=message, advice="bind the roles of this release"),)
        try:
            self.workload.get(located(objects, self.workload).path, {"limit": "1"})
        except ApiError as error:
            if error.status != _PREFLIGHT_NOT_FOUND:
                raise
            message = f"{field} is Read, and {objects.kind} is not served: {only}"
            advice = f"install the CustomResourceDefinition of the Cluster Autoscaler, or set {field}: Ignore"
            return (Check(code=code, state=State.WARN, message=message, advice=advice),)
        if refused:
            named = clauses(f"{objects.kind} {key}: {why}" for key, why in refused[:SHOWN])
            message = f"no room is kept for {count_text(len(refused), objects.kind)}: {named}"
            return (Check(code=code, state=State.WARN, message=message, advice="correct or delete them"),)
        return (Check(code=code, state=State.PASS, message=f"{count_text(number, objects.kind)} can be read"),)

    def _other_autoscalers(self) -> Check:
        autoscalers = self._autoscalers()
        if not autoscalers:
            return Check(code="OtherAutoscalers", state=State.PASS, message="no other autoscaler is at work")
        return Check(
            code="OtherAutoscalers",
            state=State.WARN,
            message=f"another autoscaler is at work: {clauses(autoscalers)}",
            advice="scale it to 0 before mode Enforce. Until then its groups are held",
        )

    def _other_policies(self) -> Check:
        code, policy = "OtherPolicies", self.policy
        groups = () if policy is None else effective_groups(self.world, policy, int(self.now_seconds))
        shared = shared_targets((str(group.target) for group in groups), self.world.claims)
        if policy is None or not shared:
            return Check(code=code, state=State.PASS, message="no target is in another policy, as far as state here tells")
        named = clauses(f"{words}: {', '.join(targets)}" for words, targets in shared.items())
        return Check(
            code=code,
            state=State.WARN,
            message=f"targets of policy {policy.policy.name} are also in {named}",
            advice="let one policy alone have a target: the one that came first writes it, and the other one holds its group",
        )

    def _nodes_come_back(self) -> Check:
        """SOURCE: row S7: new machines right after a removal, and an autoscaler's Deployment there."""
        removed = self.memory.last_removed_seconds
        if not removed or self.memory.last_added_seconds >= removed:
            return Check(code="NodesComeBack", state=State.PASS, message="no node came back after a removal of ours")
        back = sorted(node.name for node in self.world.nodes if removed < node.created_seconds <= removed + BACK_SECONDS)
        if not back:
            return Check(code="NodesComeBack", state=State.PASS, message=f"no node came back after {instant_text(removed)}")
        by = clauses(self._autoscalers()) or "no autoscaler that we know of is here: look for one outside the cluster"
        return Check(
            code="NodesComeBack",
            state=State.WARN,
            message=f"{', '.join(back)} joined within {BACK_SECONDS // 60} minutes after our removal at {instant_text(removed)}, "
            f"and we asked for none: {by}",
            advice="scale the other autoscaler to 0, and hold the group (`reconciler hold`) until it is",
        )

    def _bounds(self) -> tuple[Check, ...]:
        if self.mode is not RunMode.ENFORCE or self.policy is None:
            return ()
        return (bounds_check(self.management, self.namespace, self.world, self.policy, int(self.now_seconds)),)

    def _autoscalers(self) -> tuple[str, ...]:
        # Karpenter writes no replicas that we could see: its usual name is a hint, and holds nothing.
        deployments = (
            f"Deployment {item.namespace}/{item.name} has {count_text(item.replicas, 'replica')}"
            for item in self.world.controllers
            if item.kind == "Deployment" and item.replicas and item.name == _KARPENTER
        )
        return tuple(dict.fromkeys((*deployments, *self.world.rivals)))


class _Version(msgspec.Struct, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""
