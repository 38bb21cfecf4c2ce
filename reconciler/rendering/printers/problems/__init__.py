"""Problems of a policy tree as text, JSON, SARIF and GitHub annotations."""

from reconciler.rendering.printers.problems.text import render_text as problems_text

__all__ = ["problems_text"]
