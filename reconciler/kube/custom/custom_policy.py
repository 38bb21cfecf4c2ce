"""Custom resources -> the documents that may be decided by. Each is judged as a file would be; an invalid one is held alone.

An API server gives objects one by one and in any order, and no commit says which belong together: so that one mistake must
not keep everything else back, unlike in a tree of files. What is held keeps its last good version, whose replicas are left
alone; of one that never was good only the target is known, and is left alone. One that the policy does not take, by its
namespace or its target, claims nothing: neither a name nor a target, so that nobody can stop the group of somebody else with it.
"""

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from reconciler.kube.custom.custom_reader import CustomReader, errors
from reconciler.kube.custom.custom_text import CustomText, placed
from reconciler.kube.custom.in_force import Held, InForce, names_target
from reconciler.policy.checks import check_drafts
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.group_namespaces import GroupRefusal, RefusedGroup, group_refusal
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.draft import Draft, Drafts
from reconciler.policy.text.place import Place


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """`in_force` is what may be decided by (None: there is nothing yet); `problems` are the errors of each document that is not
    used as it stands, by its name; `refused` are those of them that the policy does not take; `missing` says that there is no
    such policy."""

    in_force: InForce | None
    problems: dict[str, tuple[Problem, ...]] = {}
    refused: tuple[RefusedGroup, ...] = ()
    missing: str = ""

    @property
    def policy_problems(self) -> tuple[Problem, ...]:
        """Those of the policy itself."""
        return next((found for name, found in self.problems.items() if name.startswith("NodeGroupPolicy ")), ())


def judge(
    texts: Sequence[CustomText], name: str, now_seconds: int, before: InForce | None, reader: CustomReader, own_namespace: str
) -> Judged:
    """Judge all objects of a cluster for the policy `name`, against what is in force. Of two that exclude each other the first
    in `texts` stands, unless only the other one is in force already. A policy that names no namespaces takes the groups of
    `own_namespace`.

    The groups of other policies are left alone; one that names a policy which nobody has is a mistake.
    """
    found = _Judging(texts, name, now_seconds, before, reader, own_namespace).judged()
    in_force = found.in_force
    reader.keep((*texts, in_force.policy, *in_force.groups) if in_force is not None else texts)
    return found


class _Judging:
    def __init__(
        self,
        texts: Sequence[CustomText],
        name: str,
        now_seconds: int,
        before: InForce | None,
        reader: CustomReader,
        own_namespace: str,
    ) -> None:
        self.reader = reader
        self.now = now_seconds
        self.before = before
        self.known = {text.name: text for text in texts}
        self.problems: dict[str, tuple[Problem, ...]] = {}
        self.good: dict[str, Draft[NodeGroup]] = {}
        self.broken: dict[str, Draft[NodeGroup] | None] = {}
        self.earlier = {text.name: text for text in before.groups} if before is not None else {}
        self.title = f"NodeGroupPolicy {name}"
        self.name = name
        self.own_namespace = own_namespace
        self._read_groups()
        self.ours = dict(self.good), dict(self.broken), dict(self.problems)
        self.refused: list[RefusedGroup] = []

    def judged(self) -> Judged:
        """The whole judgement."""
        missing = "" if self.title in self.known else f"there is no {self.title}"
        policy, draft = self._policy()
        if policy is None or draft is None:
            return Judged(in_force=None, problems=self.problems, missing=missing)
        self._refuse(draft.document)
        while True:
            found = self._checked(draft)
            wrong = {name: problems for name, problems in found.items() if name in self.good}
            of_policy = found.get(policy.name, ())
            if wrong:
                for title, problems in wrong.items():
                    self._hold(title, problems)
            elif of_policy and self.before is not None and policy.text != self.before.policy.text:
                self.problems[self.title] = of_policy
                policy = self.before.policy
                draft = self.reader.policy(policy).draft or draft
                self._refuse(draft.document)
            elif of_policy and self.before is None:
                self.problems[self.title] = of_policy
                return Judged(in_force=None, problems=self.problems, missing=missing)
            elif of_policy and (changed := [title for title in self.good if self._changed(title)]):
                # The policy was good with the groups of before: those that are new or changed made it what it is.
                for title in changed:
                    self._hold(title, of_policy)
            else:
                in_force = self._in_force(policy, draft.document)
                return Judged(in_force=in_force, problems=self.problems, refused=tuple(sorted(self.refused)), missing=missing)

    def _read_groups(self) -> None:
        policies = {text.name.partition(" ")[2] for text in self.known.values() if text.kind == "NodeGroupPolicy"}
        for text in self.known.values():
            if text.kind != "NodeGroup":
                continue
            read = self.reader.group(text)
            draft, wrong = read.draft, read.errors
            reference = draft.document.policy_ref if draft is not None and draft.sound("spec.policyRef") else ""
            if reference != self.name and reference in policies:
                continue
            if draft is not None and not wrong and reference == self.name:
                self.good[text.name] = draft
            elif wrong:
                # Whose it is must be known before it is held as one of ours.
                self._keep(text.name, self._placed(wrong), draft if reference == self.name else None)
            else:
                place = Place(f"{text.name} spec.policyRef.name", 0, 0)
                message = f"there is no NodeGroupPolicy {reference!r} in this cluster"
                self._keep(text.name, (Problem(place=place, code="UnknownPolicy", message=message),), None)

    def _refuse(self, policy: NodeGroupPolicy) -> None:
        """Take out what this policy does not take, whatever was said of the groups before."""
        of_policy = self.problems.get(self.title)
        good, broken, problems = self.ours
        self.good, self.broken, self.problems = dict(good), dict(broken), dict(problems)
        if of_policy is not None:
            self.problems[self.title] = of_policy
        self.refused = []
        for title, draft in [*self.good.items(), *self.broken.items()]:
            refusal = _refusal(draft.document, policy, self.own_namespace) if draft is not None else None
            if draft is None or refusal is None or not draft.sound(refusal.path):
                continue
            self.good.pop(title, None)
            self.broken.pop(title, None)
            place = Place(f"{title} {refusal.path}", 0, 0)
            self.problems[title] = (Problem(place=place, code=refusal.code, message=refusal.message, hint=refusal.hint),)
            self.refused.append(RefusedGroup(title=title, code=refusal.code, message=refusal.message))

    def _policy(self) -> tuple[CustomText | None, Draft[NodeGroupPolicy] | None]:
        """The policy to check the groups against: the newest that is sound by itself."""
        text = self.known.get(self.title)
        if text is not None:
            read = self.reader.policy(text)
            if not read.errors:
                return text, read.draft
            self.problems[self.title] = self._placed(read.errors)
        if self.before is None:
            return None, None
        return self.before.policy, self.reader.policy(self.before.policy).draft

    def _checked(self, policy: Draft[NodeGroupPolicy]) -> dict[str, tuple[Problem, ...]]:
        """What is wrong across the documents, by the name of the document that must change."""
        findings = Findings()
        # What is in force as it stands was there first.
        groups = sorted(self.good, key=self._changed)
        check_drafts(Drafts(policies=(policy,), groups=tuple(self.good[title] for title in groups)), findings, self.now)
        found: dict[str, tuple[Problem, ...]] = {}
        for problem in errors(findings):
            found[problem.place.path] = (*found.get(problem.place.path, ()), *self._placed((problem,)))
        return found

    def _changed(self, title: str) -> bool:
        earlier = self.earlier.get(title)
        held = self.before.held if self.before is not None else {}
        return earlier is None or title in held or earlier.text != self.known[title].text

    def _hold(self, title: str, problems: tuple[Problem, ...]) -> None:
        self._keep(title, problems, self.good.pop(title))

    def _keep(self, title: str, problems: tuple[Problem, ...], draft: Draft[NodeGroup] | None) -> None:
        self.problems[title] = problems
        self.broken[title] = draft

    def _in_force(self, policy: CustomText, document: NodeGroupPolicy) -> InForce:
        groups = [self.known[title] for title in self.good]
        held: dict[str, Held] = {}
        never_good = {title for title, why in (self.before.held if self.before is not None else {}).items() if why.never_good}
        for title, draft in self.broken.items():
            first = self.problems[title][0]
            earlier = self.earlier.get(title)
            kept = self.reader.group(earlier).document if earlier is not None else None
            if kept is not None and _refusal(kept, document, self.own_namespace) is not None:
                earlier = None
            if earlier is not None and title not in never_good:
                held[title] = Held(reason=f"{first.message}; its last good version is kept", path=first.place.path)
                groups.append(earlier)
            elif draft is not None and names_target(draft):
                held[title] = Held(reason=f"{first.message}; it never was good", path=first.place.path, never_good=True)
                groups.append(self.known[title])
        return InForce(policy=policy, groups=tuple(sorted(groups, key=attrgetter("name"))), held=held)

    def _placed(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        return tuple(placed(problem, self.known) for problem in problems)


def _refusal(group: NodeGroup, policy: NodeGroupPolicy, own_namespace: str) -> GroupRefusal | None:
    target = group.target
    return group_refusal(policy.group_namespaces, own_namespace, group.namespace, target.namespace, target.name)
