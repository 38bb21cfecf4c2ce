"""Options of `reconciler run` that name a source in the cluster: two sources, and names that are none."""

import pytest
from click.testing import CliRunner

from reconciler.cli.commands.run import command
from reconciler.cli.inputs.source import source_options
from reconciler.cli.inputs.source_choice import SourceChoice, flux_source, source_choice
from reconciler.cli.outputs.failure import InputError
from tests.kube.scripted import ScriptedApi


def refused(*arguments: str) -> str:
    """The message of a start that must be refused, before any cluster is asked."""
    result = CliRunner().invoke(command, [*arguments, "--kubeconfig=/nonexistent"], standalone_mode=False)
    assert isinstance(result.exception, InputError), result
    return str(result.exception)


def choice(*arguments: str) -> SourceChoice:
    """The options as `run` takes them."""
    import click

    parsed = click.command()(source_options(lambda **given: source_choice(given)))
    made = CliRunner().invoke(parsed, arguments, standalone_mode=False).return_value
    assert isinstance(made, SourceChoice)
    return made


@pytest.mark.parametrize(("arguments", "told"), [
    (["--git=https://git.example.org/x.git", "--policy=policies"], "--git and --policy are two sources: give one"),
    (["--custom-resources", "--policy=policies"], "--policy and --custom-resources are two sources: give one"),
    (["--custom-resources", "--git=https://git.example.org/x.git"], "--git and --custom-resources are two sources: give one"),
    (["--custom-resources", "--flux-source=a/b"], "--custom-resources and --flux-source are two sources: give one"),
    (["--git=https://git.example.org/x.git", "--policy=p", "--flux-source=a/b"],
     "--git, --policy and --flux-source are 3 sources: give one"),
])  # fmt: skip
def test_several_sources(arguments: list[str], told: str) -> None:
    """Which one wins must not be a guess."""
    assert refused(*arguments) == told


@pytest.mark.parametrize("option", ["--custom-resources", "--flux-source=a/b"])
def test_simulation_reads_no_cluster(option: str) -> None:
    """They are sources of a real cluster."""
    assert "do not go with --simulate" in refused(option, "--simulate")


@pytest.mark.parametrize(("given", "name"), [
    ("flux-system/policies", "GitRepository flux-system/policies:prod"),
    ("Bucket/flux-system/policies", "Bucket flux-system/policies:prod"),
])  # fmt: skip
def test_names_of_sources_of_flux(given: str, name: str) -> None:
    """A GitRepository unless another kind is named."""
    assert flux_source(choice(f"--flux-source={given}", "--path=prod"), ScriptedApi([])).name == name


@pytest.mark.parametrize(("arguments", "told"), [
    (["--flux-source=policies"], "write NAMESPACE/NAME, or KIND/NAMESPACE/NAME"),
    (["--flux-source=Secret/a/b"], "unknown kind of Flux source Secret"),
    (["--flux-source=a/b/c/d"], "write NAMESPACE/NAME"),
    (["--flux-source=a/B"], "as NAMESPACE/NAME"),
    (["--flux-source=a/b", "--path=../x"], "--path"),
])  # fmt: skip
def test_names_that_are_none(arguments: list[str], told: str) -> None:
    """Told with the option and what to write."""
    with pytest.raises(InputError, match=told):
        flux_source(choice(*arguments), ScriptedApi([]))
