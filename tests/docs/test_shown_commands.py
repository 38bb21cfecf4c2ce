"""Commands that the documentation shows without their output: each exists, with its options; paths and values are there."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml

from docs.generator.commands import commands
from tests.docs.test_documents import DOCUMENTS, ROOT

_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)
_END = ("|", "&&", ";", "&", ">", "2>")
CHART = ROOT / "examples" / "deploy" / "chart"
COMMANDS = commands()


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Place and text of every block of one language."""
    for path in DOCUMENTS:
        for number, (_, found, body) in enumerate(_BLOCK.findall(path.read_text(encoding="utf-8"))):
            if found == language:
                yield f"{path.relative_to(ROOT)}#{number}", body


def calls(program: str) -> list[tuple[str, list[str]]]:
    """Place and words of every call of a program in a block of shell."""
    found = []
    for place, body in blocks("sh"):
        for line in body.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for start, word in enumerate(words):
                if word == program and (start == 0 or words[start - 1] in _END):
                    end = next((index for index in range(start, len(words)) if words[index] in _END), len(words))
                    found.append((place, words[start:end]))
    return found


@pytest.mark.parametrize(
    ("place", "words"), calls("reconciler"), ids=lambda part: part if isinstance(part, str) else " ".join(part)[:80]
)
def test_a_shown_command_and_its_options_exist(place: str, words: list[str]) -> None:
    """As `reconciler COMMAND --help` lists them."""
    if words[1].startswith("-"):
        assert words[1] in ("--help", "--version"), place
        return
    assert words[1] in COMMANDS, place
    known = {opt for option in COMMANDS[words[1]].params if isinstance(option, click.Option) for opt in option.opts}
    asked = {word.partition("=")[0] for word in words[2:] if word.startswith("-")}
    assert asked - known - {"--help"} == set(), place


def test_shown_files_of_the_repository_are_there() -> None:
    """What kubectl and helm are pointed at."""
    shown = [
        word for program in ("kubectl", "helm") for _, words in calls(program) for word in words if word.startswith("examples/")
    ]
    assert shown
    assert [one for one in shown if not Path(ROOT, one).exists()] == []


def test_values_that_are_set_are_values_of_the_chart() -> None:
    """`--set KEY=…` names keys of values.yaml."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    keys = {
        part.partition("=")[0]
        for _, words in calls("helm")
        for flag, word in pairwise(words)
        if flag == "--set"
        for part in word.split(",")
    }
    assert len(keys) > 3
    assert [key for key in keys if not _there(values, key.split("."))] == []


def test_shown_values_pass_the_schema_of_the_chart() -> None:
    """YAML that begins with a comment about values."""
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    defaults["policy"] |= {"url": "https://git.example.org/a.git", "name": "a"}
    shown = [yaml.safe_load(body) for _, body in blocks("yaml") if body.startswith("# values")]
    assert len(shown) >= 2
    for values in shown:
        jsonschema.Draft202012Validator(schema).validate(_merged(defaults, values))


def _there(values: Any, path: list[str]) -> bool:
    return not path or (isinstance(values, dict) and path[0] in values and _there(values[path[0]], path[1:]))


def _merged(under: Any, over: Any) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        return under | {key: _merged(under.get(key), value) for key, value in over.items()}
    return over
