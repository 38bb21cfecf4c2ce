"""Pods that need what only some nodes declare that they can do."""

from tests.differential.generator.draft import Draft

_RESTART_ALL = "RestartAllContainersOnContainerExits"


def add(draft: Draft) -> None:
    """Let nodes declare features and pods need them."""
    for node in draft.some(draft.nodes, 60):
        node["status"]["declaredFeatures"] = draft.subset((_RESTART_ALL, "SomethingElse"))
    for pod in draft.some(draft.pods, 30):
        rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
        pod["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
