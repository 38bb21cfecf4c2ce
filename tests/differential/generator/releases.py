"""The release of Kubernetes: what kubelets tell of it, some of them behind the others."""

from tests.differential.generator.draft import Draft

# Feature gates of the minor version are all that differs in the scheduler that answers; the oldest is 1.34.
_RELEASES = ("v1.34.2", "v1.35.4", "v1.36.0", "v1.36.3", "v1.36.3-eks-3c60543")


def add(draft: Draft) -> None:
    """Let every node tell the version of its kubelet; the newest one says which release the scheduler is of."""
    newest = draft.random.randrange(len(_RELEASES))
    draft.minor = int(_RELEASES[newest].split(".")[1])
    for index, node in enumerate(draft.nodes):
        release = _RELEASES[newest if index == 0 or draft.chance(80) else max(newest - 1, 0)]
        node["status"]["nodeInfo"] = {"kubeletVersion": release}
