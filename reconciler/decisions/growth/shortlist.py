"""Selects the groups to examine in the next choice, for tiers with very many groups.

Each choice computes for every group what it would do for the remaining pods. Under spread and affinity, a choice serves few
pods. So a tier of hundreds of groups is computed hundreds of times, with nearly the same results. Between two rounds over all
groups, only the best of each class are computed again.
"""

from collections.abc import Sequence

from reconciler.decisions.draft import GroupDraft
from reconciler.decisions.growth.expanders import Option, ranked
from reconciler.policy.documents import Expander
from reconciler.scheduling.packing import TemplateClass, template_class

FEW_GROUPS, BEST_OF_A_CLASS = 32, 8
"""A tier of so few groups is always asked as a whole; of more, so many of each class between two rounds over all."""
_AGAIN_AT = 4
"""All are asked again when the pods that wait are a quarter of those of the last round over all."""


class Shortlist:
    """The groups of one tier. A class are groups whose new nodes answer every constraint of the pods alike: they differ in
    size and price."""

    def __init__(
        self, groups: Sequence[GroupDraft], keys: frozenset[str], expanders: tuple[Expander, ...], near_tie_percent: int
    ) -> None:
        self._groups = list(groups)
        self._expanders = expanders
        self._near_tie_percent = near_tie_percent
        self._class_of: dict[int, TemplateClass] = {}
        self._best: dict[TemplateClass, list[int]] = {}
        if len(groups) > FEW_GROUPS:
            for group in groups:
                if group.group.template is not None:
                    name = self._class_of[group.position] = template_class(group.group.template, keys)
                    self._best.setdefault(name, []).append(group.position)
        self._few: list[GroupDraft] = []
        self._pods = 0

    def groups(self, pods: int) -> list[GroupDraft]:
        """The groups to ask while so many pods wait."""
        if pods * _AGAIN_AT <= self._pods:
            self._few = []
        if self._few:
            return self._few
        self._pods = pods
        return self._groups

    def learn(self, options: list[Option]) -> bool:
        """Take in what was answered; False when all must be asked, since the shortlist has nothing to offer any more."""
        if self._few:
            if not options:
                self._few = []
            return bool(options)
        if self._class_of and options:
            # A class that has nothing to offer now (its zone is ahead of the others) keeps what was known of it.
            by_class: dict[TemplateClass, list[int]] = {}
            for option in ranked(options, self._expanders, self._near_tie_percent):
                by_class.setdefault(self._class_of[option.position], []).append(option.position)
            self._best.update(by_class)
            chosen = {position for best in self._best.values() for position in best[:BEST_OF_A_CLASS]}
            self._few = [group for group in self._groups if group.position in chosen]
        return True
