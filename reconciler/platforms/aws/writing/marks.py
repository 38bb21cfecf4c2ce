"""What this program writes on groups: tags with the policy that writes, its revision, and the last write.

Tags have no precondition: if two writers set one at once, the last one wins, unseen. The mark of the last write has the value and
the time, so a desired capacity that somebody else set can be distinguished from ours.
"""

from collections.abc import Mapping

from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.platforms.aws.facts.ownership import SHIELD, WRITTEN
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws

OUR_TAGS = (*OUR_MARKS, WRITTEN, SHIELD)
LONGEST = 256
"""The longest value of a tag, in characters."""


def set_tags(aws: Aws, name: str, tags: Mapping[str, str]) -> None:
    """On the group alone, not on its instances. Raises `AwsError`."""
    aws.call(AUTO_SCALING, "CreateOrUpdateTags", Tags=[_tag(name, key, text) for key, text in sorted(tags.items())])


def delete_tags(aws: Aws, name: str, keys: tuple[str, ...]) -> None:
    """Raises `AwsError`."""
    aws.call(
        AUTO_SCALING,
        "DeleteTags",
        Tags=[{key: text for key, text in _tag(name, one, "").items() if key != "Value"} for one in keys],
    )


def ours(tags: Mapping[str, str]) -> tuple[str, ...]:
    """Which of our tags are there."""
    return tuple(key for key in OUR_TAGS if key in tags)


def written(desired: int, date_seconds: int) -> str:
    """The mark of a write: the value and the service's time."""
    return f"{desired}.{date_seconds}"


def _tag(name: str, key: str, text: str) -> dict[str, object]:
    place = {"ResourceId": name, "ResourceType": "auto-scaling-group"}
    return {**place, "Key": key, "Value": text[:LONGEST], "PropagateAtLaunch": False}
