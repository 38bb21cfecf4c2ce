"""Objects of a real API server as targets: writing their replicas and their marks."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.decisions.ownership.owner import EMPTIED_MARK, OUR_MANAGER, OUR_MARKS, POLICY_MARK, policy_mark
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.plan import Bound
from reconciler.providers.answer import failed, unread
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.field_claims import claim, disclaim
from reconciler.providers.machines.dialect import MachineDialect, Reading
from reconciler.providers.ownership_guard import held_by_others, moved, not_ours, objection, objection_to_adopt
from reconciler.values.decoding import decoder

_TRIES = 3
_FORBIDDEN = (403, 422)
_OURS = {"fieldManager": OUR_MANAGER}
_APPLY = {"fieldManager": OUR_MANAGER, "force": "false"}


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    generation: int = 0


class _Object(msgspec.Struct):
    metadata: _Meta


_object = decoder(_Object)


class MachineTargets:
    """The writes on one management cluster. Before each, the target and its Cluster are read again and judged. Replicas change by
    a server-side apply of `spec.replicas` alone, plus the mark on a target that is emptied. The apply is never forced. It has the
    judged resourceVersion."""

    def __init__(self, api: Api, dialect: MachineDialect) -> None:
        self.api = api
        self.dialect = dialect

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Set replicas. `annotations` (policy, revision, reason) state whose write it is and why, but not on a topology's target.
        The policy is written first, so that no other one writes at the same time; the rest follows."""
        return self._sized(target, replicas, bound, objection, annotations or {})

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """Take the field over with its value: remove other managers' claims on it, then record us by our apply."""
        return self._sized(target, replicas, bound, objection_to_adopt, annotations or {})

    def _sized(
        self,
        target: TargetRef,
        replicas: int,
        bound: Bound,
        objects: Callable[[TargetFacts, Bound], WriteResult | None],
        annotations: Mapping[str, str],
    ) -> WriteResult:
        claimed = False

        def write(reading: Reading) -> WriteResult:
            nonlocal claimed
            facts = reading.facts
            # Our own claim has changed the evidence that `bound` names. The rest is judged without it.
            refused = moved(facts, bound) or not_ours(facts) if claimed else objects(facts, bound)
            if refused is not None:
                return refused
            mark = _policy_mark(facts, annotations)
            if claimed and mark and policy_mark(facts):
                message = f"policy {policy_mark(facts)} marked {target} meanwhile"
                return WriteResult(code=WriteCode.STALE, message=message)
            if held_by_others(facts):
                reading = self._claim(reading, mark)
                claimed = True
            elif mark:
                reading = self._marked(reading, mark)
                claimed = True
            result = self._apply(reading, replicas)
            if not facts.owner.topology_owned:
                self._annotate(facts, annotations)
            return result

        return self.judged(target, write)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Remove our annotations and our claim on the field. The value stays: the spec is not part of the write."""

        def write(reading: Reading) -> WriteResult:
            stale = moved(reading.facts, bound)
            if stale is not None:
                return stale
            patch = disclaim(reading.body, (*OUR_MARKS, EMPTIED_MARK))
            if patch is None:
                # Nothing is written, so what comes next need not wait for a view that shows it.
                facts = reading.facts
                return WriteResult(generation=facts.generation, resource_version=facts.resource_version)
            written = self._patch(target, patch, ContentType.MERGE_PATCH, _OURS)
            return WriteResult(generation=written.generation, resource_version=written.resource_version)

        return self.judged(target, write)

    def apply(self, reading: Reading, replicas: int, emptied: str = "") -> WriteResult:
        """Write replicas of a target that was just judged to be ours. If all of its machines go, `emptied` marks it in the same
        write. Raises as the connection does."""
        return self._apply(self._claim(reading, {}) if held_by_others(reading.facts) else reading, replicas, emptied)

    def _claim(self, reading: Reading, mark: Mapping[str, str]) -> Reading:
        patch = claim(reading.body)["metadata"]
        if mark:
            patch["annotations"] = {**patch.get("annotations", {}), **mark}
        return self._moved_on(reading, patch)

    def _marked(self, reading: Reading, mark: Mapping[str, str]) -> Reading:
        try:
            return self._moved_on(reading, {"resourceVersion": reading.facts.resource_version, "annotations": mark})
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise
            # A policy that forbids our annotations has not forbidden the write that they would explain.
            return reading

    def _moved_on(self, reading: Reading, metadata: object) -> Reading:
        """The same reading, with the resourceVersion after a write of metadata alone."""
        written = self._patch(reading.facts.ref, {"metadata": metadata}, ContentType.MERGE_PATCH, _OURS)
        facts = msgspec.structs.replace(reading.facts, resource_version=written.resource_version)
        return Reading(facts, reading.body)

    def _apply(self, reading: Reading, replicas: int, emptied: str = "") -> WriteResult:
        """Apply replicas. The uid keeps the apply from creating a target that somebody has deleted; the resourceVersion does not
        (measured on kube-apiserver 1.36). An apply removes everything that our earlier one set and this one leaves out. So it
        repeats a current mark, as long as machines may be removed by it."""
        facts = reading.facts
        mark = emptied or ("" if facts.owner.topology_owned else dict(facts.annotations).get(EMPTIED_MARK, ""))
        metadata: dict[str, object] = {
            "name": facts.ref.name,
            "namespace": facts.ref.namespace,
            "uid": facts.uid,
            "resourceVersion": facts.resource_version,
        }
        if mark:
            metadata["annotations"] = {EMPTIED_MARK: mark}
        body = {
            "apiVersion": self.dialect.api_version,
            "kind": self.dialect.manifest_kind(facts.ref),
            "metadata": metadata,
            "spec": {"replicas": replicas},
        }
        written = self._patch(facts.ref, body, ContentType.APPLY, _APPLY)
        return WriteResult(generation=written.generation, resource_version=written.resource_version)

    def read(self, target: TargetRef, *, rollout: bool = False) -> Reading:
        """The target now. Raises as `read_target` does."""
        return self.dialect.read_target(self.api, target, rollout=rollout)

    def _annotate(self, facts: TargetFacts, annotations: Mapping[str, str]) -> None:
        """Annotations explain a write that is done. It stands even if they cannot be written."""
        written = dict(facts.annotations) | _policy_mark(facts, annotations)
        changed = {key: text for key, text in annotations.items() if key in OUR_MARKS and written.get(key) != text}
        if changed:
            try:
                self._patch(facts.ref, {"metadata": {"annotations": changed}}, ContentType.MERGE_PATCH, _OURS)
            except (ApiError, UnreachableError, NotLeaderError):
                return

    def _patch(self, target: TargetRef, body: object, content_type: ContentType, query: Mapping[str, str]) -> _Meta:
        path = self.dialect.path(target.kind, target.namespace, target.name)
        return _object.decode(self.api.write("PATCH", path, body, content_type=content_type, query=query)).metadata

    def judged(self, target: TargetRef, write: Callable[[Reading], WriteResult]) -> WriteResult:
        """Read, judge and write. Start again if the target moved in between, at most three times (rule 1)."""
        result = WriteResult(code=WriteCode.STALE, message=f"{target} changed during each of three attempts")
        for _ in range(_TRIES):
            try:
                reading = self.read(target)
            except (ApiError, UnreachableError) as error:
                return unread(error, str(target))
            except msgspec.ValidationError as error:
                return WriteResult(code=WriteCode.REFUSED, message=f"{target} cannot be understood: {error}")
            try:
                return write(reading)
            except (ApiError, UnreachableError) as error:
                result = failed(error, str(target))
                if result.code != WriteCode.STALE:
                    break
        return result


def _policy_mark(facts: TargetFacts, annotations: Mapping[str, str]) -> dict[str, str]:
    """The mark that names the policy that writes, if it is not there yet."""
    mark = annotations.get(POLICY_MARK, "")
    return {POLICY_MARK: mark} if mark and not facts.owner.topology_owned and policy_mark(facts) != mark else {}
