from reconciler.scheduling.columns import SAFE_AMOUNT
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder


def _plugins(room: str, want: str, *, there: str = "") -> list[tuple[str, ...]]:
    cluster = ClusterBuilder()
    cluster.node("n0", memory=room)
    if there:
        cluster.pods("there", 1, memory=there, on="n0")
    cluster.pods("asks", 1, memory=want)
    world = cluster.world()
    return SchedulingState(world).rejecting_plugins(world.pods.shape[0])


def test_amounts_above_4_pebibytes_are_exact() -> None:
    """A request that is one step above the room is rejected, one that equals it is not, whatever their size."""
    for room in ("4Pi", "5Pi", "100Pi"):
        bytes_there = int(room[:-2]) << 50
        assert _plugins(room, str(bytes_there)) == [()]
        assert _plugins(room, str(bytes_there + 1)) == [("NodeResourcesFit",)]
        assert _plugins(room, "1Gi", there=str(bytes_there - (1 << 30))) == [()]
        assert _plugins(room, "2Gi", there=str(bytes_there - (1 << 30))) == [("NodeResourcesFit",)]


def test_sums_never_leave_64_bits() -> None:
    """Thousands of pods of 6 EiB on one node are answered, though by then each counts as 4 PiB only."""
    cluster = ClusterBuilder()
    cluster.node("n0", memory="20Pi", max_pods=3000)
    cluster.pods("there", 2000, memory="6Ei", on="n0")
    cluster.pods("asks", 1, memory="1Gi")
    world = cluster.world()
    state = SchedulingState(world)

    assert state.rejecting_plugins(world.pods.shape[0]) == [("NodeResourcesFit",)]
    assert SAFE_AMOUNT * 2000 < 1 << 63
