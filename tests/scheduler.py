"""Who runs which tests: those that share something in one worker, all others wherever there is time."""

from xdist.scheduler import LoadGroupScheduling

from tests.workers import unit_of


class OneWorkerEach(LoadGroupScheduling):
    """`--dist loadgroup`, with groups by file.

    SOURCE: pytest-xdist 3.8 hands the mark `xdist_group` on as the end of a test's id, and pytest 9.2 no longer lets it change an
    id: the mark has no effect there, and every worker starts a control plane.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
