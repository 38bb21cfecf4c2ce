"""A pytest plugin: the module of a mutant is loaded from its changed text, and only quick tests are run."""

import os
import sys

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutants.in_place import Loaded
from tests.mutants.mutant import VARIABLE, Mutant

# What starts a control plane, a built program or a browser: those tests are not quick.
_SLOW_FIXTURES = frozenset({"control_plane", "oracle", "validator", "browser", "cluster_api", "testbed"})
_EXAMPLES = 20
_CHOSEN = "_hypothesis_internal_use_settings"
# As this is loaded, which is before any conftest: those import the product, too.
if os.environ.get(VARIABLE):
    sys.meta_path.insert(0, Loaded(msgspec.json.decode(os.environ[VARIABLE], type=Mutant)))


def pytest_configure() -> None:
    """Before any test module is imported. A found example is enough: nobody reads a smaller one, and none is kept."""
    found = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", database=None, deadline=None, phases=found, suppress_health_check=list(HealthCheck))
    settings.load_profile("mutants")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick, and let properties look at few examples: what needs many to be seen has no quick guard."""
    quick = [item for item in items if not _SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ()))]
    config.hook.pytest_deselected(items=[item for item in items if item not in quick])
    items[:] = quick
    for function in [getattr(item, "obj", None) for item in quick]:
        chosen = getattr(function, _CHOSEN, None)
        if chosen is not None:
            few = settings(chosen, max_examples=min(chosen.max_examples, _EXAMPLES))
            setattr(getattr(function, "__func__", function), _CHOSEN, few)
