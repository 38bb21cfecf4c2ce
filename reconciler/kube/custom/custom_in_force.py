"""Custom resources in force and held ones: a PolicySet, and the record from which a restart derives it again."""

import hashlib
from collections.abc import Mapping

import msgspec

from reconciler.kube.custom.custom_reader import CustomReader, ReadDocument
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import Hold, NodeGroup, PolicySet
from reconciler.policy.place import Place
from reconciler.policy.reading.draft import Draft
from reconciler.policy.tree import policy_digest
from reconciler.values.decoding import decode

_HELD = "held.json"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Why the newest version of a document is not used, and where its fault is. `never_good`: it has no older version, so only
    its name and its target count. The rest may be wrong."""

    reason: str
    path: str
    never_good: bool = False


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """`groups` in the order of their names; `held` by the name of the text."""

    policy: CustomText
    groups: tuple[CustomText, ...]
    held: Mapping[str, Held] = {}

    def files(self) -> dict[str, bytes]:
        """All of it as named bytes, from which `from_files` makes an equal value."""
        files = {text.name: text.text for text in (self.policy, *self.groups)}
        return files | ({_HELD: msgspec.json.encode(self.held, order="sorted")} if self.held else {})

    @staticmethod
    def from_files(files: Mapping[str, bytes]) -> "InForce":
        """The reverse of `files`. Raises ValueError (such as msgspec's DecodeError) for other content."""
        texts = [CustomText.again(name, text) for name, text in sorted(files.items()) if name != _HELD]
        policies = [text for text in texts if text.kind == "NodeGroupPolicy"]
        if len(policies) != 1:
            raise ValueError("they contain no policy, or several")
        held = decode(files.get(_HELD, b"{}"), dict[str, Held])
        return InForce(policy=policies[0], groups=tuple(text for text in texts if text.kind == "NodeGroup"), held=held)

    @property
    def revision(self) -> str:
        """`sha256:` over the documents."""
        digest = hashlib.sha256()
        for name, text in sorted(self.files().items()):
            digest.update(b"%d %s %d " % (len(name), name.encode(), len(text)) + text)
        return f"sha256:{digest.hexdigest()}"

    def policy_set(self, reader: CustomReader) -> PolicySet | None:
        """The policy set for decisions; None if the policy cannot be read, as after a version change."""
        policy = reader.policy(self.policy).document
        if policy is None:
            return None
        held = [(text, self.held.get(text.name)) for text in self.groups]
        groups = _distinct([(_group(reader.group(text), why), why is not None) for text, why in held])
        return PolicySet(policy=policy, groups=groups, digest=policy_digest(policy, groups), revision=self.revision)


def names_target(draft: Draft[NodeGroup]) -> bool:
    """Whether the group's target is known, whatever else is wrong with it."""
    return bool(draft.document.target.name) and draft.sound("spec.target") and draft.sound("metadata.name")


def _group(read: ReadDocument[NodeGroup], held: Held | None) -> NodeGroup | None:
    """The document; None if it no longer names its target."""
    document = read.document
    if read.draft is None or document is None or not names_target(read.draft):
        return None
    if held is None:
        return document
    hold, place = Hold(reason=held.reason), Place(held.path, 0, 0)
    if held.never_good:
        return document.held(hold, place)
    return msgspec.structs.replace(document, hold=hold, places={**document.places, "spec.hold": place})


def _distinct(groups: list[tuple[NodeGroup | None, bool]]) -> tuple[NodeGroup, ...]:
    """Names and targets are unique in a policy. If the name of a held document is taken, its namespace is put in front. If
    another document has its target, it is left out."""
    good = [group for group, held in groups if group is not None and not held]
    names, targets = {group.name for group in good}, {group.target for group in good}
    for group, _ in groups:
        if group is None or group.target in targets:  # documents that are not held keep theirs
            continue
        name = f"{group.namespace}/{group.name}" if group.name in names else group.name
        good.append(msgspec.structs.replace(group, name=name))
        names.add(name)
        targets.add(group.target)
    return tuple(sorted(good, key=lambda group: group.name))
