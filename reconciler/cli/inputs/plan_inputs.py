"""Policy, World and instant of one decision, read from what the user named."""

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click
import msgspec

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.cli.inputs.connections import ConnectionChoice
from reconciler.cli.inputs.decision_instant import decision_instant
from reconciler.cli.inputs.policy_files import read_policy_tree
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.skipped_neighbours import tell_neighbours
from reconciler.cli.outputs.terminal import wants_colour
from reconciler.cluster.world import World, identity_of
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.problems.problem import Severity
from reconciler.policy.tree import default_policy, read_tree
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.words.plain import plain
from reconciler.values.cluster_identity import ClusterIdentity

if TYPE_CHECKING:
    from reconciler.cli.inputs.live_inputs import LiveInputs

DEFAULT_POLICIES = Path("policies")
Cluster = ClusterIdentity | Callable[[], ClusterIdentity | None] | None
"""Which cluster a policy is read for, or how to find out."""
_NAME_IT = "the snapshot.yaml of a snapshot names its cluster"


class PlanInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What `decide` takes. `memory` is that of the loop which runs on a live cluster; empty for a snapshot. `policy_files` are
    those that the policy stands in, by path below its root."""

    world: World
    policy: PolicySet
    now_seconds: int
    memory: Memory = Memory()
    policy_files: Mapping[str, bytes] = MappingProxyType({})


def read_inputs(
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    connection: ConnectionChoice | None = None,
    namespace: str | None = None,
    *,
    live: "LiveInputs | None" = None,
    verbose: bool = False,
) -> PlanInputs:
    """Read everything: a snapshot, or without one the live cluster of `connection` (`live`: connected already). The memory of the
    loop is included; its state is in `namespace`. Raises `InputError` with what is wrong and what to do. Warnings of policies go
    to stderr, with `verbose` also the names of skipped files.
    """
    if connection is not None:
        one_cluster(cluster_path, connection)
    if live is None and cluster_path is None and connection is not None:
        live = _live(connection)
    if live is not None:
        return _live_inputs(live, policy_path, name, now, namespace, verbose=verbose)
    world, now_seconds = read_world(cluster_path, now)
    policy, files = policy_with_files(policy_path, name, now_seconds, identity_of(world), verbose=verbose)
    return PlanInputs(world=world, policy=policy, now_seconds=now_seconds, policy_files=files)


def _live_inputs(
    live: "LiveInputs", policy_path: Path | None, name: str | None, now: str | None, namespace: str | None, *, verbose: bool
) -> PlanInputs:
    """The policy first: it says what clouds are asked for."""
    asked = _instant(now)
    at = int(time.time()) if asked is None else asked
    policy, files = policy_with_files(policy_path, name, at, partial(_live_identity, live), verbose=verbose)
    claims = live.claims(policy.policy.name, namespace)
    world = msgspec.structs.replace(live.world(policies=(policy,)), claims=claims)
    now_seconds = world.captured_seconds if asked is None else asked
    memory = live.memory(policy.policy.name, namespace)
    return PlanInputs(world=world, policy=policy, now_seconds=now_seconds, memory=memory, policy_files=files)


def _live_identity(live: "LiveInputs") -> ClusterIdentity | None:
    """Read only for a policy that asks which cluster this is: the clouds of that policy are not known before."""
    return identity_of(live.world(targets_only=True))


def read_cluster(cluster_path: Path | None, connection: ConnectionChoice) -> World:
    """A snapshot, or without one the live cluster, with the targets of clouds that belong to it. Raises `InputError`."""
    one_cluster(cluster_path, connection)
    return load_world(cluster_path) if cluster_path is not None else _live(connection).world(own_clouds=True)


def one_cluster(cluster_path: Path | None, connection: ConnectionChoice) -> None:
    """Raises `InputError` when a snapshot and a live cluster are named at once."""
    if cluster_path is not None and connection != ConnectionChoice():
        raise InputError(f"--cluster {cluster_path} is a snapshot, --context and its like name a live cluster: give one")


def _live(connection: ConnectionChoice) -> "LiveInputs":
    from reconciler.cli.inputs.live_inputs import LiveInputs

    return LiveInputs(connection)


def read_world(cluster_path: Path | None, now: str | None) -> tuple[World, int]:
    """The World of a snapshot and the instant of the decision in Unix seconds. Raises `InputError`."""
    if cluster_path is None:
        raise InputError(
            "no cluster: --cluster PATH takes a snapshot, a file or directory of what `kubectl get … -o json` prints "
            "(nodes, pods, machinedeployments, …)"
        )
    asked = _instant(now)
    world = load_world(cluster_path)
    now_seconds = world.captured_seconds if asked is None else asked
    if asked is None and not now_seconds:
        raise InputError(f"{cluster_path}: nothing in the snapshot says when it was taken: give --now RFC3339")
    return world, now_seconds


def read_policy(
    path: Path | None, name: str | None, now_seconds: int, cluster: Cluster = None, *, verbose: bool = False
) -> PolicySet:
    """The one policy that is meant, as it is in `cluster`; `verbose` names skipped files on stderr.

    Raises `InputError` as `validate` would print it."""
    return policy_with_files(path, name, now_seconds, cluster, verbose=verbose)[0]


def policy_by_cluster(path: Path, name: str | None, now_seconds: int) -> Callable[[int, ClusterIdentity | None], PolicySet]:
    """The policy at an instant in a cluster. Files that name no clusters have one policy, which is read here, at `now_seconds`.
    Both raise `InputError`."""
    policy_files = read_policy_tree([path])
    if not read_tree(policy_files.files, now_seconds=now_seconds, unread=policy_files.unread).for_many:
        everywhere = read_policy(path, name, now_seconds)
        return lambda *_: everywhere
    known: dict[tuple[int, ClusterIdentity | None], PolicySet] = {}

    def here(now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        if (now_seconds, cluster) not in known:
            known[now_seconds, cluster] = read_policy(path, name, now_seconds, cluster)
        return known[now_seconds, cluster]

    return here


def policy_with_files(
    path: Path | None, name: str | None, now_seconds: int, cluster: Cluster = None, *, verbose: bool = False
) -> tuple[PolicySet, Mapping[str, bytes]]:
    """The same, with the files that it stands in and no others. `cluster` is asked for only if the files name clusters."""
    if path is None and not DEFAULT_POLICIES.is_dir():
        if name is not None:
            raise InputError(f"--name {name}: there is no {DEFAULT_POLICIES}/ here. Name the policy files with --policy PATH")
        return default_policy(), {}
    root = DEFAULT_POLICIES if path is None else path
    policy_files = read_policy_tree([root])
    if path is None and not policy_files.files and not policy_files.unread:
        return default_policy(), {}
    tree = read_tree(policy_files.files, now_seconds=now_seconds, unread=policy_files.unread)
    here: ClusterIdentity | None = None
    if tree.for_many and not tree.failed:
        here = cluster() if callable(cluster) else cluster
        if here is None:
            raise InputError(f"{root} is for many clusters, and nothing says which one this is: {_NAME_IT}")
        tree = read_tree(policy_files.files, now_seconds=now_seconds, unread=policy_files.unread, cluster=here)
    if tree.problems:
        # For people the paths are those that they would type; in a plan they are relative to the policy root.
        given = read_policy_tree([root], as_given=True)
        _report(read_tree(given.files, now_seconds=now_seconds, unread=given.unread, cluster=here))
    if verbose:
        tell_neighbours(tree)
    policy = _chosen(tree, root, name, here)
    paths = {place.path for place in (policy.policy.place, *policy.policy.places.values())}
    paths |= {group.place.path for group in policy.groups}
    return policy, {path: text for path, text in policy_files.files.items() if path in paths}


def carried_policy(saved: Path, files: Mapping[str, bytes], name: str, now_seconds: int, cluster: Cluster = None) -> PolicySet:
    """The policy that a saved plan brings with it, as it is in `cluster`. Raises `InputError`."""
    tree = read_tree(files, now_seconds=now_seconds)
    if tree.for_many and not tree.failed:
        tree = read_tree(files, now_seconds=now_seconds, cluster=cluster() if callable(cluster) else cluster)
    match = next((entry for entry in tree.sets if entry.policy.name == name), None)
    errors = [problem for problem in tree.problems if problem.severity is Severity.ERROR]
    if match is None or errors:
        why = f"{errors[0].place}: {errors[0].message}" if errors else f"there is no {plain(name)} in it"
        raise InputError(f"the policy in {saved} cannot be read ({why}). Name the policy files with --policy PATH")
    return match


def _report(tree: PolicyTree) -> None:
    click.echo(render_text(tree.problems, color=wants_colour(sys.stderr)), err=True)
    errors = sum(problem.severity is Severity.ERROR for problem in tree.problems)
    if errors:
        raise InputError(f"{errors} {'error' if errors == 1 else 'errors'} in the policy files, so nothing was decided")


def _chosen(tree: PolicyTree, root: Path, name: str | None, cluster: ClusterIdentity | None) -> PolicySet:
    names = [entry.policy.name for entry in tree.sets]
    if not names and cluster is not None:
        raise InputError(f"{root}: no NodeGroupPolicy applies in cluster {cluster.title}")
    if not names:
        where = (
            f"no NodeGroupPolicy in {tree.files} {'file' if tree.files == 1 else 'files'}" if tree.files else "no policy files"
        )
        raise InputError(f"{root}: {where}. `reconciler init --out DIR` writes a first policy from the existing objects")
    if name is None and len(names) == 1:
        return tree.sets[0]
    if name is None:
        raise InputError(f"{root} holds several policies: choose one with --name ({', '.join(names)})")
    for entry in tree.sets:
        if entry.policy.name == name:
            return entry
    raise InputError(f"--name {name}: {root} holds {', '.join(names)}")


def _instant(text: str | None) -> int | None:
    if text is None:
        return None
    return decision_instant(text)
