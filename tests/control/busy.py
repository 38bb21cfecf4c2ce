"""A loop in the middle of its work: groups that grow, are held and fail, pods that wait, decisions in every state."""

from collections.abc import Sequence

from reconciler.cluster.target import FieldOwner
from reconciler.control.pages.live_page import LivePage
from reconciler.control.pages.pages import routes
from reconciler.control.pages.route import Answer, Request, Route
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.turn_report import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, GroupFields, Mode, PolicySet, ScaleDown
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

LONG = "prod-eu-central-1-general-purpose-with-a-name-as-long-as-some-are"


def cluster(waiting: int = 3, *, failed: bool = True) -> ClusterBuilder:
    """`waiting` pods that a new node takes, and two that fit nowhere; two nodes on their way, and a machine that failed."""
    made = ClusterBuilder()
    made.group("general-a", nodes=2, cpu="4")
    made.pods("old", 1, cpu="3", on="general-a-1")
    made.pods("old-b", 1, cpu="3", on="general-a-2")
    made.pods("web", waiting, cpu="3", node_selector={"pool": "general-a"})
    made.pods("giant", 2, cpu="64")
    made.group("spot", nodes=3, cpu="8", created=NOW - 3600)
    made.group("coming", nodes=1, replicas=3 + failed, cpu="4")
    coming = machine_deployment("coming")
    made.machine("coming-x7k2p", coming, created=NOW - 200)
    made.machine("coming-8d4fz", coming, created=NOW - 80)
    if failed:
        made.machine("coming-bad00", coming, created=NOW - 500, failed="InvalidConfiguration: no such image in this region")
    made.pods("busy", 1, cpu="3", on="coming-1")
    made.group(LONG, nodes=2, owners=(FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 9999),))
    return made


GROUPS = ("general-a", "spot", "coming", LONG)


def rules(mode: Mode = Mode.ENFORCE, names: Sequence[str] = GROUPS) -> PolicySet:
    """Empty nodes leave at once, two at a time."""
    return policy(
        *(node_group(name, max=9) for name in names),
        mode=mode, budgets=(Budget(nodes=2),), defaults=GroupFields(scale_down=ScaleDown(unneeded_time_seconds=0)),
    )  # fmt: skip


class BusyLoop:
    """Figures and last plan as after some turns; `turn` decides again over another cluster."""

    def __init__(self) -> None:
        self.figures = Figures()
        self.now = NOW
        self.view_problem = ""
        self.last: tuple[Plan, Decided] | None = None
        self.page = LivePage(
            self.figures, lambda: self.last, lambda: self.now, leader=lambda: "this instance leads (pod-1)",
            view_problem=lambda: self.view_problem, period_seconds=2,
        )  # fmt: skip

    def lead(self) -> "BusyLoop":
        """From now on."""
        self.figures.leads(leader=True)
        return self

    def turn(self, seen: ClusterBuilder, *states: ResultState, removals: tuple[RemovalProgress, ...] = ()) -> Plan:
        """One turn; its actions end in `states`, the last of them for all that are left."""
        world = seen.world()
        policies = rules(names=[facts.ref.name for facts in world.targets])
        plan, memory = decide(world, policies, self.last[1].memory if self.last else Memory(), self.now)
        decided = Decided(world=world, policy=policies, memory=memory, now_seconds=self.now)
        ends = (*states, *(len(plan.actions) * (states[-1:] or (ResultState.DONE,))))
        results = tuple(
            ActionResult(
                action=action, state=state,
                code="" if state is ResultState.DONE else "Conflict",
                message="" if state is ResultState.DONE else 'the API server says: conflict with "kubectl"',
            )
            for action, state in zip(plan.actions, ends, strict=False)
        )  # fmt: skip
        self.figures.turned(
            LoopReport(at_seconds=self.now, plan=plan, decided=decided, results=results, removals=removals), 0.1, 0
        )
        self.last = (plan, decided)
        return plan

    def routes(self) -> tuple[Route, ...]:
        """All pages, for a server."""
        return (*routes(self.figures, lambda: self.now, started_seconds=NOW), *self.page.routes())

    def get(self, path: str = "/") -> Answer:
        """What a page answers."""
        route = next(route for route in self.page.routes() if route.path == path)
        return route.answer(Request(method="GET", path=path, headers={}))


def busy_loop() -> BusyLoop:
    """After three turns: removals of which one is done and one failed, then growth under way, then something that was refused."""
    loop = BusyLoop().lead()
    plan = loop.turn(cluster(waiting=0, failed=False), ResultState.DONE)
    gone = [action for action in plan.actions if action.kind is ActionKind.REMOVE_NODE]
    ends = (RemovalState.FINISHED, RemovalState.FAILED)
    told = tuple(
        RemovalProgress(
            target=machine_deployment(action.group), node=action.nodes[0], state=state, replicas=2, code="Blocked",
            message="pod shop/late was bound to it meanwhile",
        )
        for action, state in zip(gone, ends, strict=True)
    )  # fmt: skip
    loop.now += 10
    loop.turn(cluster(), ResultState.DONE, removals=told)
    loop.now += 10
    loop.turn(cluster(), ResultState.REFUSED)
    return loop


REFUSED_WRITE, LOST_MACHINE, HELD_GROUP = "refused write", "machine that never arrives", "held group"


def faulty_loop(*faults: str) -> BusyLoop:
    """After one turn, twelve seconds ago, over a cluster in which only these are wrong; in a steady state without any."""
    made = ClusterBuilder()
    made.group("general-a", nodes=2, cpu="4", replicas=2)
    made.pods("old", 2, cpu="3", on=["general-a-1", "general-a-2"])
    made.group("gpu", nodes=1, replicas=1 + (LOST_MACHINE in faults), cpu="4")
    made.pods("busy", 1, cpu="3", on="gpu-1")
    if REFUSED_WRITE in faults:
        made.pods("web", 3, cpu="3", node_selector={"pool": "general-a"})
    if LOST_MACHINE in faults:
        made.machine("gpu-x7k2p", machine_deployment("gpu"), created=NOW - 500, failed="QuotaExceeded: 8 GPUs are used")
    if HELD_GROUP in faults:
        made.group(
            "batch", nodes=1, cpu="4", owners=(FieldOwner(manager="terraform", operation="Apply", time_seconds=NOW - 9999),)
        )
        made.pods("held", 1, cpu="3", on="batch-1")
    loop = BusyLoop().lead()
    loop.turn(made, *((ResultState.REFUSED, ResultState.DONE) if REFUSED_WRITE in faults else ()))
    loop.now += 12
    return loop
