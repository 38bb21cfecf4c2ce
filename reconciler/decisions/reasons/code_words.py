"""Codes in words, for sentences that name several of them briefly."""

import re

_WORDS = {
    "NodeResourcesFit": "too little free capacity",
    "TaintToleration": "untolerated taint",
    "NodeAffinity": "other labels than the pod wants",
    "PodTopologySpread": "topology spread constraint",
    "InterPodAffinity": "pod affinity or anti-affinity",
    "NodePorts": "host port in use",
    "NodeUnschedulable": "unschedulable",
    "VolumeBinding": "volume cannot be bound",
    "VolumeZone": "volume in another zone",
    "VolumeRestrictions": "volume in use elsewhere",
    "NodeVolumeLimits": "too many volumes",
    "DynamicResources": "no device that the claim wants",
    "GroupHeld": "held",
    "AtMaxSize": "at its maximum",
    "LimitReached": "limit reached",
    "SpendingLimitReached": "spending limit reached",
    "BackedOff": "backed off",
    "CoolDown": "cooling down",
    "GroupUnhealthy": "unhealthy",
    "RolloutInProgress": "rollout in progress",
    "TargetMissing": "target missing",
    "TemplateUnknown": "capacity unknown",
    "NoMaxSize": "no maximum",
    "GrownForShare": "tier share",
    "LowerTier": "lower tier",
    "PriceUnknown": "price unknown",
}
_CODE = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b(?=[,)]|$)")
_COUNTED = re.compile(r"(?P<number>\d+) (?P<what>.+)")


def in_words(text: str) -> str:
    """`fixed (held)` of `fixed (GroupHeld)`: each known code in words; the others as they are."""
    return _CODE.sub(lambda code: _WORDS[code[0]], text)


def counted_words(text: str) -> str:
    """`too little free capacity on 12` of `12 NodeResourcesFit`."""
    found = _COUNTED.fullmatch(text)
    return in_words(text) if found is None else f"{in_words(found['what'])} on {found['number']}"
