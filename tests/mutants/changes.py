"""Every one-line change of a source text that may change what it does: comparisons, conditions, arithmetic, numbers, calls."""

import ast
from collections.abc import Iterator

from tests.mutants.mutant import Mutant

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
# Keywords that hold the author to something and that no correct program runs into: `frozen=True`, `zip(strict=True)`.
_SEEN_BY_NOBODY = ("frozen", "kw_only", "gc", "strict")
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


Place = tuple[ast.expr, ast.expr]
"""An expression as it is, and what may stand in its stead."""


def places(text: str) -> list[Place]:
    """Everything that can be changed, in the order of the text. What is written for people (docstrings, messages) and what only
    type checkers read is left alone."""
    return [(node, changed) for node in _expressions(ast.parse(text)) for changed in _changed(node)]


def mutant_at(file: str, text: str, place: Place) -> Mutant:
    """The file with one change."""
    node, changed = place
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
    whole, before, after = text.encode(), ast.unparse(node), ast.unparse(changed)
    kept = "\n" * ((node.end_lineno or node.lineno) - node.lineno)  # every other line keeps its number
    source = (whole[:begin] + f"({after}{kept})".encode() + whole[end:]).decode()
    return Mutant(file=file, what=f"{file}:{node.lineno}: {before} -> {after}", source=source, line=node.lineno)


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that run, outside annotations and formatted text."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "type_params", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or getattr(child, "arg", "") in _SEEN_BY_NOBODY:
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _expressions(child)


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[first, *rest]) if type(first) in _COMPARED:
            yield ast.Compare(left=node.left, ops=[_COMPARED[type(first)](), *rest], comparators=node.comparators)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield ast.BoolOp(op=other, values=node.values)
            for index in range(len(node.values)):
                left = [value for place, value in enumerate(node.values) if place != index]
                yield left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(test=ast.UnaryOp(op=ast.Not(), operand=node.test), body=node.body, orelse=node.orelse)
        case ast.BinOp() if type(node.op) in _CALCULATED and not _is_text(node):
            yield ast.BinOp(left=node.left, op=_CALCULATED[type(node.op)](), right=node.right)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int() as number):
            yield ast.Constant(value=number + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield ast.Call(func=ast.Name(id=_CALLED[name]), args=node.args, keywords=node.keywords)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )
