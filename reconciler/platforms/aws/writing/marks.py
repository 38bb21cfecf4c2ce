"""What this program writes on groups: tags that say which policy writes, by which revision, and what was written last.

Tags have no precondition: of two who write one at once the last wins, unseen. The mark of the last write carries value and
time, so that a desired capacity which somebody else has set can be told from ours.
"""

from collections.abc import Mapping

from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.platforms.aws.facts.ownership import WRITTEN
from reconciler.platforms.aws.writing.calls import AUTO_SCALING, Aws

SHIELD = "reconciler.dev/shield"
OUR_TAGS = (*OUR_MARKS, WRITTEN, SHIELD)
LONGEST = 256
"""Characters of the value of a tag."""


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
    """The mark of a write: value and the service's time."""
    return f"{desired}.{date_seconds}"


def _tag(name: str, key: str, text: str) -> dict[str, object]:
    place = {"ResourceId": name, "ResourceType": "auto-scaling-group"}
    return {**place, "Key": key, "Value": text[:LONGEST], "PropagateAtLaunch": False}
