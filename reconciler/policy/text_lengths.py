"""How many characters a text of each kind may have: one table for readers and for schemas.

Every text is bounded, so that reading one takes no time that anybody could notice, whoever wrote it.
"""

from collections.abc import Mapping

from reconciler.policy.field import Kind
from reconciler.policy.values import pattern, schedule
from reconciler.values import duration, instant, money, quantity

LONGEST_TEXT = 1024
"""Of a text without a form of its own, such as the reason of a hold or the value of a tag."""

LONGEST: Mapping[Kind, int] = {
    Kind.STRING: LONGEST_TEXT,
    Kind.STRING_MAP: LONGEST_TEXT,
    Kind.NAME: 63,
    Kind.OBJECT_NAME: 253,
    Kind.LABEL_KEY: 317,
    Kind.LABEL_MAP: 63,
    Kind.DURATION: duration.MAX_LENGTH,
    Kind.QUANTITY: quantity.MAX_LENGTH,
    Kind.RESOURCE_MAP: quantity.MAX_LENGTH,
    Kind.INTEGER_OR_PERCENT: 10,
    Kind.MONEY: money.MAX_LENGTH,
    Kind.INSTANT: instant.MAX_LENGTH,
    Kind.CRON: schedule.MAX_LENGTH,
    Kind.TIME_ZONE: 64,
    Kind.REGEX: pattern.MAX_LENGTH,
}
