"""Which build of the hot loops runs: the compiled one when it was built at install time, else the same source interpreted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.scheduling.kernels import domains, fillings, improvements, loops, passes, rows
else:
    try:
        from reconciler.scheduling.kernels import compiled_domains as domains
    except ImportError:
        from reconciler.scheduling.kernels import domains
    try:
        from reconciler.scheduling.kernels import compiled_loops as loops
    except ImportError:
        from reconciler.scheduling.kernels import loops
    try:
        from reconciler.scheduling.kernels import compiled_fillings as fillings
    except ImportError:
        from reconciler.scheduling.kernels import fillings
    try:
        from reconciler.scheduling.kernels import compiled_improvements as improvements
    except ImportError:
        from reconciler.scheduling.kernels import improvements
    try:
        from reconciler.scheduling.kernels import compiled_passes as passes
    except ImportError:
        from reconciler.scheduling.kernels import passes
    try:
        from reconciler.scheduling.kernels import compiled_rows as rows
    except ImportError:
        from reconciler.scheduling.kernels import rows

__all__ = ["active_build", "domains", "fillings", "improvements", "loops", "passes", "rows"]


def active_build() -> str:
    """`compiled` or `interpreted`; compiled only when every module of kernels is."""
    modules = (domains, fillings, improvements, loops, passes, rows)
    built = [module.__name__.rpartition(".")[2].startswith("compiled_") for module in modules]
    return "compiled" if all(built) else "interpreted"
