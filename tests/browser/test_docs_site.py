"""Tables of the documentation fit a screen of 1280 pixels."""

from pathlib import Path

import pytest

from tests.browser.conftest import Windows
from tests.docs.built_site import built

TOO_WIDE = "[...document.querySelectorAll('.table-wrapper')].filter(e => e.scrollWidth > e.clientWidth).length"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout."""
    return built(tmp_path_factory.mktemp("docs") / "site")


@pytest.mark.parametrize("page", ["policy", "cluster-autoscaler-flags", "reasons", "metrics"])
def test_no_table_of_the_reference_scrolls_sideways(page: str, site: Path, kept_windows: Windows) -> None:
    """Long keys and flags break; the window is 1280 pixels wide."""
    opened = kept_windows.visit((site / "reference" / f"{page}.html").as_uri())
    assert opened.page.evaluate("document.querySelectorAll('.table-wrapper').length") > 0
    assert opened.page.evaluate(TOO_WIDE) == 0
