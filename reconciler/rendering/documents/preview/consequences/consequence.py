"""One effect of a policy change, with its grade and its code."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from reconciler.plan.reason import Scalar
from reconciler.rendering.documents.blocks import Sentence, plain_sentence


class Grade(StrEnum):
    """How severe it is for a reviewer. `caution`: pods lose their node, nodes leave, pods are evicted, writing begins or ends, or
    a target is missing. `warning`: a looser value or another owner reaches groups, tests do not judge as before, or documents are
    not judged here, and nothing moves yet. `note`: everything else."""

    CAUTION = "caution"
    WARNING = "warning"
    NOTE = "note"


class Code(StrEnum):
    """What happens, the gravest first."""

    WRITING_STOPS = "WritingStops"
    TARGET_MISSING = "TargetMissing"
    PODS_WITHOUT_NODE = "PodsWithoutNode"
    WRITING_STARTS = "WritingStarts"
    TAKES_OVER = "TakesOver"
    NODES_REMOVED = "NodesRemoved"
    DATA_LOST = "DataLost"
    EVICTIONS = "Evictions"
    LATER = "Later"
    OTHER_NODES_REMOVED = "OtherNodesRemoved"
    GROUPS_LEAVE = "GroupsLeave"
    GROUPS_COME = "GroupsCome"
    GROUPS_HELD = "GroupsHeld"
    NEW_PROBLEMS = "NewProblems"
    GROUP_WARNINGS = "GroupWarnings"
    TEMPLATE_DIFFERS = "TemplateDiffers"
    NEW_FINDINGS = "NewFindings"
    OTHER_CLUSTERS = "OtherClusters"
    TESTS_LOST = "TestsLost"
    DECLARED_SIZES = "DeclaredSizes"
    LOOSENS = "Loosens"
    MAY_LOOSEN = "MayLoosen"
    POLICY_WARNINGS = "PolicyWarnings"
    NODES_IN_STEADY_STATE = "NodesInSteadyState"
    COST = "CostPerMonth"
    PODS_PLACED = "PodsPlaced"


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """One effect. `sentence` is in parts. `short` is its text for a headline, without words from the policy or the cluster.
    `named` is the same with names, for a headline with room; it is empty if `short` says as much. `detail` is a sentence with
    what the headline leaves out, if it says `short` or `named`: empty for nothing, None for all of `sentence`. `data` are its
    numbers and names, with keys in camelCase. `causes` is a sentence about the changed values that may cause it, for a caution
    that does not name its own cause."""

    grade: Grade
    code: Code
    sentence: Sentence
    short: str
    named: Sentence = ()
    detail: Sentence | None = None
    data: Mapping[str, Scalar] = {}
    causes: Sentence = ()

    @property
    def message(self) -> str:
        """The sentence as plain text."""
        return plain_sentence(self.sentence)
