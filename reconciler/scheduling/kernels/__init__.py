"""Which build of the hot loops runs: the compiled one when it was built at install time, else the same source interpreted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.scheduling.kernels import loops
else:
    try:
        from reconciler.scheduling.kernels import compiled_loops as loops
    except ImportError:
        from reconciler.scheduling.kernels import loops

__all__ = ["active_build", "loops"]


def active_build() -> str:
    """`compiled` or `interpreted`."""
    return "compiled" if loops.__name__.endswith("compiled_loops") else "interpreted"
