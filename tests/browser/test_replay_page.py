"""The charts of a replay in a real browser."""

import pytest

from reconciler.rendering.printers.html.replay import replay_html
from tests.browser.conftest import BEYOND, SCHEMES, WIDTHS, Axe, Opened, Windows
from tests.rendering.printers.html.test_html_charts import two

PHONE = (390, 844)
MOST_SCREENS = 4


@pytest.fixture(scope="module")
def opened(kept_windows: Windows) -> Opened:
    """Two policies under which everything changes in every step."""
    return kept_windows.show(replay_html(two()))


def test_a_phone_shows_it_on_less_than_four_screens(opened: Opened):
    """As it is opened: with its folds closed."""
    opened.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    wide, high = opened.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= PHONE[0]
    assert high < MOST_SCREENS * PHONE[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_width_and_scheme(opened: Opened, axe: Axe, width: int):
    """Nothing goes sideways, every drawing fills its sheet, axe-core finds nothing, the console stays empty."""
    for scheme in SCHEMES:
        page = opened.sized(width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BEYOND) == []
        heights = page.evaluate("[...document.querySelectorAll('.chart>svg')].map(e => e.getBoundingClientRect().height)")
        assert len(heights) == 7
        assert min(heights) > 80
        assert axe.look(page, colours_only=scheme != SCHEMES[0])[0] == []
    assert opened.console == []
