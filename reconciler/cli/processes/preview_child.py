"""The previews of one pull request, made in a process of their own: `python -m reconciler.cli.processes.preview_child`.

What the pull request wrote is data in it, as everywhere.
"""

import sys
from collections.abc import Iterator

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.control.previewer import Telling
from reconciler.gitops.child_answer import answer
from reconciler.gitops.git.repository import PolicyFiles
from reconciler.policy.problems.problem import Problem


class PreviewTask(msgspec.Struct, frozen=True, kw_only=True):
    """What one child makes: previews of `before` (the base) and `after` (the result of merging; `merged`: it differs from the
    head itself). They are made on `world`, for the policies `names` under `keys`. `branches` are the names of base and head,
    `conflicts` why it cannot be merged."""

    world: World
    before: PolicyFiles
    after: PolicyFiles
    branches: tuple[str, str]
    merged: bool
    keys: tuple[str, ...]
    names: tuple[str | None, ...]
    conflicts: tuple[Problem, ...] = ()


def tellings(task: PreviewTask) -> Iterator[Telling]:
    """What is to be told, a telling a key."""
    from reconciler.cli.inputs.preview_sides import committed_side, merged_side
    from reconciler.cli.processes.preview_comment import failure_content, preview_content, refusal_content
    from reconciler.cli.processes.preview_made import chosen, made_preview
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
    from reconciler.gitops.pull_requests.comment import STAMP_ROOM
    from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT

    now = task.world.captured_seconds
    base = committed_side(task.before, task.branches[0], now, None)
    head = merged_side(task.conflicts, task.after, task.branches[1], now, base, made=task.merged)
    for key, name in zip(task.keys, task.names, strict=True):
        if head.errors:
            content = refusal_content(base, head)
        else:
            try:
                policy = chosen(base, head, name)
            except InputError as error:
                content = failure_content(base, head, error.message)
            else:
                made = made_preview(task.world, now, base, head, policy, name, DEFAULT_WORK_BUDGET, pictured=False)
                content = preview_content(made, base, head)
        yield Telling(
            key=key, digest=content.digest, head=content.head, summary=content.summary, cut_short=False,
            changed=content.changed or bool(head.errors), markdown=content.markdown(GITHUB_LIMIT - STAMP_ROOM),
        )  # fmt: skip


def made(task: PreviewTask) -> bytes:
    """What is to be told, as JSON."""
    return msgspec.json.encode(list(tellings(task)))


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:], made))
