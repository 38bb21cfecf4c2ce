"""Approvals for the loop: real commits and keys, a followed repository, and a loop over the simulated cluster."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from reconciler.cli.inputs.source import source_options
from reconciler.cli.inputs.source_choice import read_once, source_choice
from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.under_way import recovered
from reconciler.gitops.git.remote import PROTOCOLS, checked_remote
from reconciler.gitops.git.signature import Signers
from reconciler.gitops.sources.git_source import GitAddress, GitSource
from reconciler.gitops.sources.last_good import FileLastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from reconciler.plan.plan import Plan
from reconciler.policy.pace import GroupApproval
from reconciler.providers.contract import NodeRemoval, WriteCode, WriteResult
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.values.instant import instant_text
from tests.builders import NOW, ClusterBuilder, machine_deployment
from tests.gitops.repositories import GitRepo
from tests.gitops.signers import SshKey, sign_with_ssh, ssh_key

GENERAL = machine_deployment("general")
POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  budgets: [{nodes: 100}]
  pace: {requireApprovalAbove: 2, delayAfterAdd: 0s}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: general}}
  size: {min: 0, max: 9}
  scaleDown: {unneededTime: 0s}
"""


class Keys(NamedTuple):
    """Ada may approve, Mallory has a key as well."""

    ada: SshKey
    mallory: SshKey
    approvers: Path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Both keys and the operator's file."""
    directory = tmp_path_factory.mktemp("keys")
    ada, mallory = ssh_key(directory, "ada"), ssh_key(directory, "mallory")
    approvers = directory / "approvers"
    approvers.write_text(f"ada@example.org {ada.public}\n")
    return Keys(ada, mallory, approvers)


class KilledError(BaseException):
    """What nothing catches."""


class MortalStore(InMemoryStore):
    """The process is killed as it stores for the `last`th time."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self._left = last

    def save(self, memory: Memory) -> None:
        self._left -= 1
        if not self._left:
            raise KilledError
        super().save(memory)


class MortalPort(SimulatedPort):
    """Of two removals the first is begun and the second meets a stale object; the process is killed as it tries again."""

    tries = 0

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        self.tries += 1
        if self.tries == 2:
            raise KilledError
        (begun,) = super().remove_nodes(removals[:1])
        return begun, WriteResult(code=WriteCode.STALE)


class Bench:
    """Six empty nodes, two of which may leave within a day, and who follows the repository."""

    def __init__(self, directory: Path, keys: Keys) -> None:
        self.directory, self.keys = directory, keys
        self.repo = GitRepo(directory / "repo")
        self.repo.commit({"prod.yaml": POLICY})
        self.events: list[SourceEvent] = []
        self.now = NOW
        self.store = InMemoryStore()
        self.policies = self.restarted()
        builder = ClusterBuilder()
        builder.group("general", nodes=6)
        self.cluster = SimulatedCluster(builder.world(), self.policies.current(), NOW)
        self.port = SimulatedPort(self.cluster)

    def restarted(self) -> FollowedPolicy:
        """As a new process: the last good policy and the memory are kept."""
        address = GitAddress(
            remote=checked_remote(f"file://{self.repo.root}/.git", PROTOCOLS), ref="main",
            approvers=Signers(allowed_signers_file=self.keys.approvers),
        )  # fmt: skip
        source = GitSource(address, self.directory / "cache")
        store = FileLastGoodStore(self.directory / "last-good")
        self.policies = FollowedPolicy(source, store, lambda: self.now, tell=self.events.append)
        self.policies.poll()
        return self.policies

    def turns(self, count: int = 3) -> Plan:
        """Turns a minute apart; the last plan."""
        loop = ControlLoop(self.port, self.policies, self.store)
        for _ in range(count):
            self.now += 60
            self.cluster.advance_to(self.now)
            report = loop.turn()
        assert report.plan is not None
        return report.plan

    @property
    def replicas(self) -> int | None:
        return self.cluster.objects.targets[GENERAL].replicas

    def approve(self, plan: Plan, key: SshKey | None, until: int = 3600) -> None:
        """Commit the line that the plan asks for, and look at the repository."""
        (reason,) = [reason for reason in plan.groups[0].reasons if reason.code == "WaitsForApproval"]
        line = str(reason.data["trailer"]).replace("YYYY-MM-DDTHH:MM:SSZ", instant_text(self.now + until))
        if key is not None:
            sign_with_ssh(self.repo, key)
        self.repo.commit({}, f"Fewer nodes\n\n{line}\n")
        self.policies.poll()


@pytest.fixture
def bench(tmp_path: Path, keys: Keys) -> Bench:
    """Before the first turn."""
    return Bench(tmp_path, keys)


def test_the_rest_of_a_plan_waits_until_the_approver_has_signed(bench: Bench) -> None:
    """Two nodes go and no more, turn after turn; with the approval the others go. The commit is another one than that of the
    policy, whose values it names."""
    plan = bench.turns()
    assert (bench.replicas, plan.summary) == (4, "No changes, 1 group waits for an approval.")
    bench.approve(plan, bench.keys.ada)
    assert "waits for an approval" not in bench.turns().summary
    assert bench.replicas == 0


@pytest.mark.parametrize("who", ["nobody", "mallory"])
def test_a_line_of_anybody_approves_nothing(bench: Bench, who: str) -> None:
    """Unsigned, or by a key that the operator did not name: said once, and nothing goes."""
    plan = bench.turns()
    bench.approve(plan, bench.keys.mallory if who == "mallory" else None)
    bench.policies.poll()
    bench.turns()
    assert bench.replicas == 4
    assert [event.reason for event in bench.events].count("ApprovalRefused") == 1


def test_who_may_approve_is_what_the_options_say(bench: Bench, keys: Keys, tmp_path: Path) -> None:
    """With the file of approvers the approval is read, without it is none, and a file that is missing is said."""
    bench.approve(bench.turns(), keys.ada)

    @click.command()
    @source_options
    def look(**given: object) -> tuple[GroupApproval, ...]:
        return read_once(source_choice(given), bench.now).approvals

    def looked(*words: str) -> tuple[tuple[GroupApproval, ...], str]:
        options = ("--git", f"file://{bench.repo.root}/.git", "--git-protocol", "file", "--git-cache", str(tmp_path / "other"))
        done = CliRunner().invoke(look, [*options, *words], standalone_mode=False)
        return done.return_value or (), str(done.exception or "")

    assert [one.nodes for one in looked("--approvers", str(keys.approvers))[0]] == [6]
    assert looked() == ((), "")
    assert looked("--approvers", str(tmp_path / "absent"))[1].endswith("absent: no such file")


def test_an_approval_is_not_there_for_another_policy(bench: Bench) -> None:
    """A change of any value after it, and it says nothing any more."""
    plan = bench.turns()
    bench.approve(plan, bench.keys.ada)
    bench.repo.commit({"prod.yaml": POLICY.replace("max: 9", "max: 8")})
    bench.policies.poll()
    bench.turns()
    assert bench.replicas == 4


def test_an_approval_runs_out_and_reaches_a_day_ahead(bench: Bench) -> None:
    """One whose end is further away does not count yet; one whose end has come does not count any more."""
    plan = bench.turns()
    bench.approve(plan, bench.keys.ada, until=2 * 86_400)
    plan = bench.turns()
    assert bench.replicas == 4
    bench.approve(plan, bench.keys.ada, until=60)
    bench.turns()
    assert bench.replicas == 4


def test_a_restart_finds_the_approval_again_and_does_not_count_it_twice(bench: Bench) -> None:
    """The policy is the last good one at once, the approval is read with the first look, and what has gone is remembered."""
    plan = bench.turns()
    bench.approve(plan, bench.keys.ada)
    assert bench.restarted().current().approvals != ()
    bench.turns()
    assert bench.replicas == 0
    assert [count for _, count in bench.store.load().departures[str(GENERAL)]] == [6]


@pytest.mark.parametrize(("saves", "written"), [(1, 0), (2, 0), (3, 2)])
def test_what_a_killed_process_had_begun_is_counted(bench: Bench, saves: int, written: int) -> None:
    """A turn stores what it decided, which nodes it takes away, and what came of it. Killed at the third of these, with both
    nodes on their way: the next process takes no others; killed before, it takes two."""
    bench.store = MortalStore(saves)
    with pytest.raises(KilledError):
        bench.turns(1)
    assert len(recovered(bench.store.load(), bench.port.observe(), bench.now).leaving) == written
    bench.restarted()
    bench.turns(5)
    assert bench.replicas == 4
    memory = bench.store.load()
    assert (dict(memory.intended), [count for _, count in memory.departures[str(GENERAL)]]) == ({}, [2])


def test_what_was_begun_is_counted_though_the_process_ends_as_it_tries_the_rest_again(bench: Bench) -> None:
    """Both were stored before the first write, and the one that stands as before does not count."""
    bench.port = MortalPort(bench.cluster)
    with pytest.raises(KilledError):
        bench.turns(1)
    assert len(bench.store.load().intended[str(GENERAL)]) == 2
    assert len(recovered(bench.store.load(), bench.port.observe(), bench.now).leaving) == 1
