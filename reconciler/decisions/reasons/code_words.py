"""Codes in words, for sentences that name several of them briefly."""

import re
from collections.abc import Sequence

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
_CODE = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b(?=[,)]| and |$)")
_MOST_REJECTIONS = 4


def in_words(text: str) -> str:
    """`fixed (held)` of `fixed (GroupHeld)`: each known code in words; the others as they are."""
    return _CODE.sub(lambda code: _WORDS[code[0]], text)


def rejection_words(rejections: Sequence[str]) -> str:
    """`too little free capacity on 9, untolerated taint on 3` of `9 NodeResourcesFit` and `3 TaintToleration`: the most frequent
    ones in words. The nodes of the others are one number, so that all numbers add up."""
    told = [f"{in_words(what)} on {number}" for number, _, what in (one.partition(" ") for one in rejections[:_MOST_REJECTIONS])]
    left = sum(int(one.partition(" ")[0]) for one in rejections[_MOST_REJECTIONS:])
    return ", ".join((*told, *([f"other reasons on {left}"] if left else ())))
