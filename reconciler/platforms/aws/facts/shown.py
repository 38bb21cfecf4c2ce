"""What a redacted snapshot keeps of AWS's answers: the fields that are read, without account numbers.

The user's own tags, labels and taints get the pseudonyms that the rest of the snapshot uses. Names of groups, templates, policies
and instances stay, like those of other targets and machines. AWS's own texts stay as well.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Hiding
from reconciler.platforms.aws.facts.user_data import without_the_rest
from reconciler.platforms.aws.kinds import LABEL, RESOURCE, TAINT, TEMPLATE
from reconciler.values.decoding import convert
from reconciler.values.quantity import is_quantity

Object = dict[str, Any]
_ACCOUNT = re.compile(r"\b[0-9]{12}\b")
_NO_ACCOUNT = "0" * 12
# Keys whose words this program compares or shows.
_KNOWN = ("k8s.io/cluster-autoscaler/", "kubernetes.io/cluster/", "eks:", "aws:cloudformation:", "reconciler.dev/")
_OF_PEOPLE = ("Cause", "message")
_USER_DATA = "UserData"


def words_of_group(item: Mapping[str, Any]) -> Iterable[str]:
    """What nodes name of a group: the group, its instances and its zones."""
    yield str(item.get("AutoScalingGroupName", ""))
    yield from map(str, item.get("AvailabilityZones") or ())
    for one in item.get("Instances") or ():
        yield from (str(one.get("InstanceId", "")), str(one.get("AvailabilityZone", "")))


def shown(read: type[msgspec.Struct], item: Mapping[str, Any], words: Hiding) -> Object:
    """One item as `read` decodes it. Raises `msgspec.ValidationError`."""
    fields: Object = msgspec.to_builtins(convert(item, read))
    if fields.get("Tags"):
        fields["Tags"] = [_tag(str(tag["Key"]), str(tag["Value"]), words) for tag in fields["Tags"]]
    if fields.get("labels"):
        fields["labels"] = {words.word(key): words.value(key, text) for key, text in fields["labels"].items()}
    if fields.get("taints"):
        fields["taints"] = [
            {"key": words.word(one["key"]), "value": words.value(one["key"], one["value"] or ""), "effect": one["effect"]}
            for one in fields["taints"]
        ]
    cleaned: Object = _cleaned(fields)
    return cleaned


def _tag(key: str, text: str, words: Hiding) -> Object:
    if key.startswith((LABEL, TAINT, RESOURCE)):
        head = next(prefix for prefix in (LABEL, TAINT, RESOURCE) if key.startswith(prefix))
        name = key.removeprefix(head)
        kept = text if is_quantity(text) and head == RESOURCE else words.tokens(words.value(name, text))
        return {"Key": head + words.word(name), "Value": kept}
    if key.startswith((*_KNOWN, TEMPLATE)):
        return {"Key": key, "Value": text}
    return {"Key": words.word(key), "Value": words.value(key, text)}


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - JSON of any form
    if isinstance(value, str):
        return _ACCOUNT.sub(_NO_ACCOUNT, value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        kept = {key: _cleaned(item) for key, item in value.items() if key not in _OF_PEOPLE and item is not None}
        if _USER_DATA in kept:
            kept[_USER_DATA] = without_the_rest(kept[_USER_DATA])
        return kept
    return value
