"""Custom resources -> the documents that decisions may use. Each is judged like a file; an invalid one is held alone.

An API server delivers objects one by one and in any order, and no commit groups them. So unlike in a tree of files, one mistake
must not hold everything else. A held document keeps its last good version, whose replicas stay as they are. If it never was good,
only its target is known, and the loop leaves that alone.

A document that the policy does not take, because of its namespace or its target, claims neither a name nor a target. So nobody
can use it to stop somebody else's group.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

import msgspec

from reconciler.kube.custom.custom_in_force import Held, InForce, names_target
from reconciler.kube.custom.custom_reader import CustomReader, errors, unreadable_problem
from reconciler.kube.custom.custom_text import CustomText, placed
from reconciler.policy.checks import check_drafts
from reconciler.policy.checks.overlap import Overlaps
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.group_namespaces import GroupRefusal, RefusedGroup, group_refusal, namespace_refusal
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.draft import Draft, Drafts
from reconciler.values.shown_text import shown

MOST_ROUNDS = 10
"""How many times a namespace may have everything checked again within one judgement because groups of it were held."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """`in_force` is what decisions may use (None: nothing yet). `problems` has, by name, the errors of each document whose newest
    version is not used. `refused` are the groups among these documents that the policy does not accept. `missing` states that the
    policy does not exist, and `missing_name` names it."""

    in_force: InForce | None
    problems: dict[str, tuple[Problem, ...]] = {}
    refused: tuple[RefusedGroup, ...] = ()
    missing: str = ""
    missing_name: str = ""

    @property
    def policy_problems(self) -> tuple[Problem, ...]:
        """Those of the policy itself."""
        return next((problems for name, problems in self.problems.items() if name.startswith("NodeGroupPolicy ")), ())


def judge(
    texts: Sequence[CustomText], name: str, now_seconds: int, before: InForce | None, reader: CustomReader, own_namespace: str
) -> Judged:
    """Judge all objects of a cluster for the policy `name`, compared with what is in force. If two exclude each other, the first
    in `texts` wins, unless only the other one is already in force. A policy that names no namespaces takes the groups of
    `own_namespace`.

    Groups of other policies are left alone. A group that names an unknown policy has an error.
    """
    judgement = _Judging(texts, name, now_seconds, before, reader, own_namespace).judged()
    in_force = judgement.in_force
    reader.keep((*texts, in_force.policy, *in_force.groups) if in_force is not None else texts)
    return judgement


_Errors = tuple[dict[str, tuple[Problem, ...]], dict[str, Problem]]
"""The errors of each document, by its name; for each group, also the errors of the policy that the group causes."""


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
        self.kept: dict[str, Draft[NodeGroup]] = {}
        self.policy: NodeGroupPolicy | None = None
        self.earlier = {text.name: text for text in before.groups} if before is not None else {}
        held = before.held if before is not None else {}
        self.never_good = {title for title, why in held.items() if why.never_good}
        self.title = f"NodeGroupPolicy {name}"
        self.name = name
        self.own_namespace = own_namespace
        self.refused: list[RefusedGroup] = []
        self.overlaps: dict[str, Overlaps] = {}
        self.rounds: dict[str, int] = {}

    def judged(self) -> Judged:
        """The whole judgement."""
        judgement = self._judged()
        if self.title in self.known:
            return judgement
        return msgspec.structs.replace(judgement, missing=f"there is no {self.title}", missing_name=self.name)

    def _judged(self) -> Judged:
        policy, draft = self._policy()
        if policy is None or draft is None:
            self._read_groups(None)
            return Judged(in_force=None, problems=self.problems)
        self._read_groups(draft.document)
        while True:
            by_document, caused = self._checked(policy, draft)
            wrong = {name: problems for name, problems in by_document.items() if name in self.good}
            of_policy = by_document.get(policy.name, ())
            if wrong:
                for title, problems in wrong.items():
                    self._hold(title, problems)
                self._count_round(wrong)
            elif caused:
                # No group can block the policy. Groups that do not fit under it are held, and nothing else.
                for title, problem in caused.items():
                    self._hold(title, (problem,))
                self._count_round(caused)
            elif of_policy and self.before is not None and policy.text != self.before.policy.text:
                self.problems[self.title] = of_policy
                policy = self.before.policy
                draft = self.reader.policy(policy).draft or draft
                self._read_groups(draft.document)
            elif of_policy and self.before is None:
                self.problems[self.title] = of_policy
                return Judged(in_force=None, problems=self.problems)
            elif of_policy and (changed := [title for title in self.good if self._changed(title)]):
                # The policy was good with the previous groups, so the new or changed ones made it invalid.
                for title in changed:
                    self._hold(title, of_policy)
            else:
                if of_policy:
                    # It stays in force, but not unseen.
                    self.problems[self.title] = of_policy
                in_force = self._in_force(policy, draft.document)
                return Judged(in_force=in_force, problems=self.problems, refused=tuple(sorted(self.refused)))

    def _count_round(self, held: Iterable[str]) -> None:
        """Held groups may be what others relied on, so everything is checked again. A namespace has a limited number of such
        rounds. After that, its other changes are held too. The loop's own namespace has no such limit."""
        for namespace in {self.known[title].namespace for title in held if title in self.known} - {"", self.own_namespace}:
            self.rounds[namespace] = self.rounds.get(namespace, 0) + 1
            if self.rounds[namespace] < MOST_ROUNDS:
                continue
            message = f"too many changes in namespace {shown(namespace)} depend on other held ones: this one is not examined"
            hint = "first fix those that are held for another reason"
            for title in [t for t in self.good if self.known[t].namespace == namespace and self._changed(t)]:
                self._hold(title, (Problem(place=Place(title, 0, 0), code="NotExamined", message=message, hint=hint),))

    def _read_groups(self, policy: NodeGroupPolicy | None) -> None:
        """Read the groups that this policy takes, whatever was found about them before. Groups in other namespaces are not read
        at all: anybody may have written them."""
        of_policy = self.problems.get(self.title)
        self.good, self.broken, self.kept, self.refused = {}, {}, {}, []
        self.policy = policy
        self.problems = {self.title: of_policy} if of_policy is not None else {}
        policies = {text.name.partition(" ")[2] for text in self.known.values() if text.kind == "NodeGroupPolicy"}
        for text in self.known.values():
            if text.kind != "NodeGroup" or (text.policy_ref != self.name and text.policy_ref in policies):
                continue
            allowed = policy.group_namespaces if policy is not None else ()
            refusal = namespace_refusal(allowed, self.own_namespace, text.namespace) if policy is not None else None
            if refusal is not None:
                self._refuse(text.name, refusal)
            else:
                self._read_group(text, policy)

    def _read_group(self, text: CustomText, policy: NodeGroupPolicy | None) -> None:
        read = self.reader.group(text)
        # Its policy must be known before it is held as one of ours.
        draft, wrong = read.draft if text.policy_ref == self.name else None, read.errors
        refusal = _refusal(draft.document, policy, self.own_namespace) if draft is not None and policy is not None else None
        if draft is not None and refusal is not None and draft.sound(refusal.path):
            self._refuse(text.name, refusal)
        elif draft is not None and not wrong:
            self.good[text.name] = draft
        elif wrong:
            self._keep(text.name, self._placed(wrong), draft)
        else:
            place = Place(f"{text.name} spec.policyRef.name", 0, 0)
            message = f"unknown NodeGroupPolicy {shown(text.policy_ref)}: this cluster has no such policy"
            self._keep(text.name, (Problem(place=place, code="UnknownPolicy", message=message),), None)

    def _refuse(self, title: str, refusal: GroupRefusal) -> None:
        place = Place(f"{title} {refusal.path}", 0, 0)
        self.problems[title] = (Problem(place=place, code=refusal.code, message=refusal.message, hint=refusal.hint),)
        self.refused.append(RefusedGroup(title=title, code=refusal.code, message=refusal.message))

    def _policy(self) -> tuple[CustomText | None, Draft[NodeGroupPolicy] | None]:
        """The policy to check the groups against: the newest that is valid on its own."""
        text = self.known.get(self.title)
        if text is not None:
            read = self.reader.policy(text)
            if not read.errors:
                return text, read.draft
            self.problems[self.title] = self._placed(read.errors)
        if self.before is None:
            return None, None
        return self.before.policy, self.reader.policy(self.before.policy).draft

    def _checked(self, text: CustomText, policy: Draft[NodeGroupPolicy]) -> _Errors:
        """The faults across documents, by the name of the document that must change."""
        while True:
            titles = sorted((*self.good, *self.kept), key=self._rank)
            try:
                return self._check(policy, titles)
            except Exception as error:
                # A defect of ours must affect only the object that triggers it.
                if (own := self._failure(policy, ())) is not None:
                    return {text.name: (unreadable_problem(text, own),)}, {}
                for title, failure in self._failing(policy, titles, error).items():
                    self._hold(title, (unreadable_problem(self.known[title], failure),))

    def _failing(self, policy: Draft[NodeGroupPolicy], titles: Sequence[str], error: Exception) -> Mapping[str, Exception]:
        """The groups that break the check: those that fail on their own, else the first that fails with others."""
        alone = {title: failure for title in titles if (failure := self._failure(policy, (title,))) is not None}
        if alone:
            return alone
        counts = range(len(titles) + 1)
        first = bisect_left(counts, 1, key=lambda count: int(self._failure(policy, titles[:count]) is not None))
        return {titles[first - 1]: error}

    def _failure(self, policy: Draft[NodeGroupPolicy], titles: Sequence[str]) -> Exception | None:
        try:
            self._check(policy, titles)
        except Exception as error:
            return error
        return None

    def _check(self, policy: Draft[NodeGroupPolicy], titles: Sequence[str]) -> _Errors:
        findings = Findings(errors_only=True)
        drafts = tuple(self.good.get(title) or self.kept[title] for title in titles)
        check_drafts(Drafts(policies=(policy,), groups=drafts), findings, self.now, self._overlaps_of)
        by_document: dict[str, tuple[Problem, ...]] = {}
        for problem in errors(findings):
            by_document[problem.place.path] = (*by_document.get(problem.place.path, ()), *self._placed((problem,)))
        return by_document, {title: self._blamed(title, problem) for title, problem in findings.caused.items()}

    def _overlaps_of(self, draft: Draft[NodeGroup] | Draft[NodeGroupPolicy]) -> Overlaps:
        """One budget per namespace for the whole judgement: one namespace's windows do not use up the budget of others."""
        document = draft.document
        namespace = document.namespace if isinstance(document, NodeGroup) else ""
        if namespace not in self.overlaps:
            self.overlaps[namespace] = Overlaps(self.now)
        return self.overlaps[namespace]

    def _blamed(self, title: str, problem: Problem) -> Problem:
        (own,) = self._placed((problem,))
        related = ((own.place, "the other document"), *own.related)
        return msgspec.structs.replace(own, place=Place(title, 0, 0), related=related)

    def _rank(self, title: str) -> int:
        """The precedence of a document if not all can be used; lower wins. First come documents in force, then the last good
        versions of others. Then come those that take no more than before, those with the same target as before, and all others.
        Older ones come first."""
        was, now = self._last_good(title), self.good.get(title)
        if was is None:
            return 4
        if now is None:
            return 1
        if not self._changed(title):
            return 0
        return (2 if _takes_no_more(now.document, was.document) else 3) if now.document.target == was.document.target else 4

    def _last_good(self, title: str) -> Draft[NodeGroup] | None:
        """The version in force of a group that is valid on its own and that the policy still takes."""
        earlier = self.earlier.get(title)
        if earlier is None or title in self.never_good or self.policy is None:
            return None
        read = self.reader.group(earlier)
        if read.draft is None or read.errors or _refusal(read.draft.document, self.policy, self.own_namespace) is not None:
            return None
        return read.draft

    def _changed(self, title: str) -> bool:
        earlier = self.earlier.get(title)
        held = self.before.held if self.before is not None else {}
        return earlier is None or title in held or earlier.text != self.known[title].text

    def _hold(self, title: str, problems: tuple[Problem, ...]) -> None:
        """Hold the group. If it is already held, its last good version no longer counts when others are judged."""
        if title in self.good:
            self._keep(title, problems, self.good.pop(title))
        else:
            self.kept.pop(title, None)

    def _keep(self, title: str, problems: tuple[Problem, ...], draft: Draft[NodeGroup] | None) -> None:
        self.problems[title] = problems
        self.broken[title] = draft
        last_good = self._last_good(title)
        if last_good is not None:
            self.kept[title] = last_good

    def _in_force(self, policy: CustomText, document: NodeGroupPolicy) -> InForce:
        groups = [self.known[title] for title in self.good]
        held: dict[str, Held] = {}
        for title, draft in self.broken.items():
            first = self.problems[title][0]
            earlier = self.earlier.get(title)
            kept = self.reader.group(earlier).document if earlier is not None else None
            if kept is not None and _refusal(kept, document, self.own_namespace) is not None:
                earlier = None
            if earlier is not None and title not in self.never_good:
                held[title] = Held(reason=f"{first.message}. The last good version stays in force", path=first.place.path)
                groups.append(earlier)
            elif draft is not None and names_target(draft):
                held[title] = Held(reason=f"{first.message}. It has never been valid", path=first.place.path, never_good=True)
                groups.append(self.known[title])
        return InForce(policy=policy, groups=tuple(sorted(groups, key=attrgetter("name"))), held=held)

    def _placed(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        return tuple(placed(problem, self.known) for problem in problems)


def _takes_no_more(now: NodeGroup, was: NodeGroup) -> bool:
    """Whether a group counts for no more than before, under every limit."""
    low, before = now.size.min, was.size.min
    same = (now.labels, now.tier, now.template) == (was.labels, was.tier, was.template)
    return same and (low == before or (low is not None and before is not None and low < before))


def _refusal(group: NodeGroup, policy: NodeGroupPolicy, own_namespace: str) -> GroupRefusal | None:
    target = group.target
    return group_refusal(policy.group_namespaces, own_namespace, group.namespace, target.namespace, target.name)
