"""Whether a process has anything to size: targets that its server keeps, or those of a cloud that its policy asks for."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from reconciler.cli.inputs.connections import Connections
from reconciler.cli.inputs.policy_files import read_policy_tree
from reconciler.cli.outputs.failure import InputError
from reconciler.policy.documents import PolicySet
from reconciler.policy.tree import read_tree
from reconciler.providers.live_platforms import asks_clouds, names_clouds, nothing_to_size


def in_clouds(files: Path) -> bool:
    """Whether the policies in these files ask for targets of a cloud; what is wrong with them is told by who follows them."""
    if not files.exists():
        return False
    policy_files = read_policy_tree([files])
    tree = read_tree(policy_files.files, now_seconds=int(time.time()), unread=policy_files.unread)
    return any(names_clouds(policy_set) for policy_set in tree.sets)


def check_sized(connections: Connections, files: Path | None) -> None:
    """Raises `InputError` where there is nothing to size. `files` are the policies, if they are files here. What a repository or
    a cluster will say is not known yet; `Sized` reports it once it is."""
    if files is not None and not (connections.served or asks_clouds(os.environ) or in_clouds(files)):
        raise InputError(nothing_to_size(connections.management.server))


class Sized:
    """Tells of a policy in force that there is nothing to size by it: once, and again after one that has something."""

    def __init__(self, connections: Connections, tell: Callable[[str], None]) -> None:
        self._server = connections.management.server
        self._always = bool(connections.served) or asks_clouds(os.environ)
        self._tell = tell
        self._reported = False

    def look(self, policy: PolicySet) -> None:
        """Another policy, or the same one, is in force."""
        nothing = not (self._always or names_clouds(policy))
        if nothing and not self._reported:
            self._tell(f"{nothing_to_size(self._server)}. The policy in force names no target of a cloud")
        self._reported = nothing
