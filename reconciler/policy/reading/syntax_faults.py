"""YAML syntax errors in words that say how to fix them. They do not depend on the parser."""

import re

import yaml

from reconciler.policy.problems.findings import Source
from reconciler.policy.yaml_nodes import Spot
from reconciler.values.yaml_events import too_deep

# Parts of the parsers' own messages -> sentence, hint.
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a second ':' in this value, or the indentation does not match the line above",
        "quote a text that holds ': ', or align the key with its siblings",
    ),
    ("expected ',' or ']'", "a ',' or ']' is missing", "close the list"),
    ("expected ',' or '}'", "a ',' or '}' is missing", "close the braces"),
    ("found unexpected end of stream", "a quote is opened here and never closed", "add the closing quote"),
    ("found unexpected document indicator", "a quote is opened here and never closed", "add the closing quote"),
    ("could not find expected ':'", "this line is not a 'key: value' pair", "add the ':' or indent it under the line above"),
    ("expected '-' indicator", "a list and a mapping are mixed at one level", "start the line with '- ' or indent it"),
    ("expected key", "the indentation matches no level above", "align the key with its siblings"),
    ("expected <block end>", "the indentation matches no level above", "align the key with its siblings"),
    ("<document start>", "text after the end of a document", "start a new document with '---' or fix the indentation"),
    ("node content", "a value is missing here", "write the value, or remove the key"),
    ("unknown escape character", "an unknown escape in double quotes", r"write \\ for a backslash, or use single quotes"),
    ("undefined tag handle", "an unknown tag", "a policy is plain data: remove the tag"),
    ("incompatible YAML document", "an unsupported YAML version", "remove the %YAML line"),
    ("block sequence entries are not allowed", "a list cannot start here", "put '- ' on its own line"),
    ("block mapping", "a mapping cannot start here", "align the key with its siblings"),
)
_START = "cannot start any token"
_CONTEXT_MATTERS = ("found unexpected end of stream", "found unexpected document indicator")


def describe_fault(error: yaml.YAMLError, source: Source) -> tuple[str, Spot, str, str]:
    """Code, place, sentence and hint of a syntax fault."""
    problem = str(getattr(error, "problem", "") or error)
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    if mark is None:
        return "Syntax", Spot(1, 1), _own_words(problem), ""
    if context is not None and any(part in problem for part in _CONTEXT_MATTERS):
        mark = context
    spot = Spot(mark.line + 1, mark.column + 1)
    if too_deep(error):
        return "TooDeep", spot, "nested too deeply for a policy", "write fewer levels"
    at = source.line(spot.line)[spot.column - 1 : spot.column]
    if _START in problem:
        if at == "\t":
            return "Tab", spot, "a tab starts this line, but YAML is indented with spaces", "replace tabs by spaces"
        return "Syntax", spot, f"a value cannot start with {at!r}", "quote the value"
    for part, sentence, hint in _WORDS:
        if part in problem:
            return "Syntax", spot, sentence, hint
    return "Syntax", spot, _own_words(problem), ""


def _own_words(problem: str) -> str:
    words = re.sub(r"\s+", " ", problem).strip()
    return f"invalid YAML: {words}" if words else "invalid YAML"
