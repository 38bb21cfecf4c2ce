"""Current facts about machines, from AWS: the types that groups name and, if the permissions allow it, launch configurations.

The built-in table dates from one day. Newer and corrected types come from here. No permission is required: without them, the
table is used.
"""

from collections.abc import Iterable, Mapping

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, EC2, Aws, AwsError, Parameters, paged

TYPES_SECONDS = 86_400.0
_TYPES_AT_ONCE = 100
_CONFIGURATIONS_AT_ONCE = 50
_UNKNOWN = "InvalidInstanceType"


class MachineTypes:
    """The last answers of one account and region."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._asked: dict[str, float] = {}
        self._types: dict[str, Parameters] = {}
        self._configurations: dict[str, Parameters] = {}
        self._without = set[str]()

    def ask(self, now: float, groups: Iterable[Parameters], templates: Iterable[Parameters]) -> bool:
        """Ask for everything that groups name and that was not asked for within a day. Returns whether there is news. Raises
        `AwsError` for anything but a refusal."""
        listed = list(groups)
        before = len(self._configurations)
        wanted = {item["LaunchConfigurationName"] for item in listed if item.get("LaunchConfigurationName")}
        for some in portions(sorted(wanted - self._configurations.keys() - self._without), _CONFIGURATIONS_AT_ONCE):
            self._ask_configurations(some)
        named = types_of(listed, templates) | {item["InstanceType"] for item in self._configurations.values()}
        due = sorted(name for name in named if now - self._asked.get(name, float("-inf")) >= TYPES_SECONDS)
        for some in portions(due, _TYPES_AT_ONCE):
            self._ask_types(some)
            self._asked.update(dict.fromkeys(some, now))
        return len(self._configurations) != before or bool(due)

    def items(self) -> dict[str, list[Parameters]]:
        """All that is known, by kind. A kind without an answer is missing."""
        by_kind = {"InstanceType": self._types, "LaunchConfiguration": self._configurations}
        return {kind: [item for _, item in sorted(items.items())] for kind, items in by_kind.items() if items}

    def _ask_configurations(self, names: list[str]) -> None:
        action, key = "DescribeLaunchConfigurations", "LaunchConfigurations"
        try:
            items, _ = paged(self._aws, AUTO_SCALING, action, key, 100, LaunchConfigurationNames=names)
        except AwsError as error:
            if not error.denied:
                raise
            items = []
        self._configurations.update((item["LaunchConfigurationName"], item) for item in items)
        self._without |= set(names) - self._configurations.keys()

    def _ask_types(self, names: list[str]) -> None:
        """One unknown name makes AWS refuse the whole call. AWS names it, and the others are asked for again."""
        left = names
        while left:
            try:
                answer = self._aws.call(EC2, "DescribeInstanceTypes", InstanceTypes=left)
            except AwsError as error:
                if error.code == _UNKNOWN and (known := [name for name in left if name not in error.message]) != left:
                    left = known
                    continue
                if error.denied or error.code == _UNKNOWN:
                    return
                raise
            self._types.update((item["InstanceType"], item) for item in answer.body.get("InstanceTypes") or ())
            return


def types_of(groups: Iterable[Parameters], templates: Iterable[Parameters]) -> set[str]:
    """The instance types that templates, overrides and instances name."""
    names = {(item.get("LaunchTemplateData") or {}).get("InstanceType") for item in templates}
    for item in groups:
        mixed: Mapping[str, Parameters] = item.get("MixedInstancesPolicy") or {}
        names |= {one.get("InstanceType") for one in (mixed.get("LaunchTemplate") or {}).get("Overrides") or ()}
        names |= {one.get("InstanceType") for one in item.get("Instances") or ()}
    return {name for name in names if name}


def portions(names: list[str], size: int) -> list[list[str]]:
    """The names in portions of at most `size`."""
    return [names[start : start + size] for start in range(0, len(names), size)]
