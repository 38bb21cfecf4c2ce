"""Selectors of devices: the values follow from the definition of the Common Expression Language and from DRA's own rules.

The random clusters of `tests/differential` compare selectors with cel-go, as the scheduler's plugin evaluates them.
"""

import pytest

from reconciler.cluster.devices.resource_slice import Attribute, AttributeKind, Device, DeviceCapacity
from reconciler.scheduling.devices.selector_values import NotEvaluatedError, SelectorError, semver
from reconciler.scheduling.devices.selectors import MOST_STEPS, Answer, Selector

DRIVER = "gpu.example.com"
GPU = Device(
    name="gpu-0",
    attributes=(
        Attribute("index", AttributeKind.INT, "3"),
        Attribute("model", AttributeKind.STRING, "a100"),
        Attribute("other.example.com/healthy", AttributeKind.BOOL, "true"),
        Attribute("version", AttributeKind.VERSION, "1.10.0-rc.1"),
    ),
    capacities=(DeviceCapacity(name="memory", milli=40 * 1024**3 * 1000),),
    multiple=True,
)
OWN, OTHER = 'device.attributes["gpu.example.com"]', 'device.attributes["other.example.com"]'
NOWHERE = 'device.attributes["nowhere.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'


SELECTED: tuple[tuple[str, bool], ...] = (
    ('device.driver == "gpu.example.com"', True),
    ("device.driver == 'gpu' || device.allowMultipleAllocations", True),
    ("!device.allowMultipleAllocations", False),
    # A name without a domain is in that of the driver.
    (f'{OWN}.model == "a100" && {OWN}["index"] == 3', True),
    (f"{OTHER}.healthy", True),
    (f"{OTHER}.healthy == false", False),
    (f"{OWN}.index >= 3 && {OWN}.index < 0x4 && {OWN}.index > -1 && {OWN}.index <= 3", True),
    (f'{OWN}.model < "a2" && {OWN}.model != "A100"', True),
    # Values of other types are unequal, which is no error.
    (f'{OWN}.index == "3"', False),
    (f"{OTHER}.healthy == 1", False),
    (f"{OWN}.model == {OWN}.version", False),
    (f"{MEMORY} != {OWN}.model", True),
    (f'{OWN}.model in ["h100", "a100"]', True),
    (f"{OWN}.index in [1, 2]", False),
    # A domain that is not there is an empty map.
    ('"nowhere.example.com" in device.attributes', False),
    ('"gpu.example.com" in device.attributes', True),
    (f'"model" in {OWN}', True),
    (f'"model" in {NOWHERE}', False),
    (f"has({OWN}.model) && !has({OWN}.size) && !has({NOWHERE}.size)", True),
    (f'{OWN}.?model.orValue("none") == "a100" && {NOWHERE}.?model.orValue("none") == "none"', True),
    (f"{OWN}.?model.hasValue() && !{NOWHERE}.?model.hasValue()", True),
    (f'{MEMORY}.compareTo(quantity("40Gi")) == 0', True),
    (f'{MEMORY} == quantity("40960Mi")', True),
    (f'{MEMORY}.isGreaterThan(quantity("42.9G")) && {MEMORY}.isLessThan(quantity("43G"))', True),
    # A pre-release comes before the release; numbers of versions are numbers.
    (f'{OWN}.version.isLessThan(semver("1.10.0")) && {OWN}.version.isGreaterThan(semver("1.9.9"))', True),
    (f'{OWN}.version == semver("1.10.0-rc.1+build.7")', True),
    (f'cel.bind(own, {OWN}, own.model == "a100" && own.index == 3)', True),
    (f"cel.bind(size, {OWN}.size, true)", True),
    (f'{OWN}.model.startsWith("a") && {OWN}.model.endsWith("100") && {OWN}.model.contains("10")', True),
    (f'{OWN}.model.matches("^a[0-9]+$") && {OWN}.model.matches("10")', True),
    (f'{OWN}.model.matches("^10")', False),
    ('"A-ä".lowerAscii() == "a-ä"', True),
    (f'{OWN}.index == 3 ? {OWN}.model == "a100" : {OWN}.size == 1', True),
    # What decides on either side decides, whatever is wrong with the other.
    (f"{OWN}.size == 1 || true", True),
    (f"false && {OWN}.size == 1", False),
    (f"!({OWN}.size == 1 && false)", True),
    ("'it\\'s' == \"it's\" && r'a\\b' == 'a\\\\b'", True),
    ("(((true)))", True),
)
FAILING = (
    (f"{OWN}.size == 1", "no such key: size"),
    # An unknown name in an unknown domain is an error as well.
    (f"{NOWHERE}.size == 1", "no such key: size"),
    (f"{OWN}.size == 1 || false", "no such key: size"),
    (f"{OWN}.model > 5", "no order between a text and a number"),
    (f"{OWN}.model", "a text is not a boolean"),
    (f"!{OWN}.model", "a text is not a boolean"),
    (f"{OWN}.model && true", "a text is not a boolean"),
    (f'{OWN}.index.startsWith("a")', "a number is not a text"),
    (f'{OWN}.model.isGreaterThan(semver("1.0.0"))', "a text and a version cannot be compared"),
    ('semver("1.0") == semver("1.0.0")', "'1.0' is not a semantic version"),
    (f'{MEMORY}.isGreaterThan(quantity("much"))', "invalid quantity"),
    (f"cel.bind(size, {OWN}.size, size == 1)", "no such key: size"),
    (f'"a" in {OWN}.model', "nothing is in a text"),
    (f'{OWN}.version == "1.10.0-rc.1"', "a version and a text cannot be compared"),
    (f"{MEMORY} == {OWN}.model", "a quantity and a text cannot be compared"),
)
"""Expressions that fail on the device, and a part of what is said. `tests/differential` asks kube-scheduler about both tables."""


@pytest.mark.parametrize(("expression", "selects"), SELECTED)
def test_what_is_selected(expression: str, selects: bool) -> None:
    """One device, one expression, its value."""
    assert Selector(expression).matches(DRIVER, GPU) is selects


@pytest.mark.parametrize(("expression", "said"), FAILING)
def test_what_fails_on_a_device(expression: str, said: str) -> None:
    """kube-scheduler then gives up the whole attempt to place the pod, so this is not a no."""
    with pytest.raises(SelectorError, match=said):
        Selector(expression).matches(DRIVER, GPU)


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("device.attributes.exists(d, true)", "'d' at character 26"),
        ("1 + 1 == 2", r"'\+ 1 == 2' at character 3"),
        ("size(device.driver) == 3", "the function size at character 1"),
        ("device.driver.split('.')[0] == 'gpu'", "the function split at character 15"),
        ("device.driver == 5", "string == int at character 15"),
        ("device.driver", "string where bool is needed at character 1"),
        ("device.attributes == device.attributes", "== of maps, lists or optional values at character 19"),
        ("device.attributes.domain.name", "'domain' at character 19"),
        ("device", "device without a field at character 1"),
        ("devices.driver == 'a'", "'devices' at character 1"),
        ("device.driver.matches('(a|b)+')", r"the pattern '\(a\|b\)\+' at character 23"),
        (f"device.driver.matches('{'a' * 257}')", "the pattern"),
        ("device.driver.matches(device.driver)", "matches without a pattern as a text at character 15"),
        ("device.driver == '\\x41'", r"the escape \\x at character 18"),
        ("1.5 < 2.5", "'1.5 < 2.5' at character 1"),
        ("99999999999999999999 > 1", "a number beyond 64 bits at character 1"),
        ("[1, 'a'] == [1, 'a']", "a list of nothing or of several types at character 1"),
        ("has(device.driver)", "'has' at character 1"),
        ("true true", "'true' at character 6"),
        ("true &&", "'the end' at character 8"),
        ("", "'the end' at character 1"),
        ("(" * 50 + "true" + ")" * 50, "brackets nested too deeply at character 41"),
        ("!" * 50 + "true", "signs nested too deeply"),
        ("true || " * 1500 + "true", "an expression of more than 10 KiB"),
        ("false||" * 1400 + "false", "an expression of more than 2000 words"),
        ("1 == " + "0" * 5000 + "1", "a number of more than 20 digits at character 6"),
        (" == ".join(["true"] * 110), "an expression nested too deeply at character"),
        ("device.driver" + ".lowerAscii()" * 110 + " == ''", "an expression nested too deeply at character"),
    ],
)
def test_what_is_not_evaluated(expression: str, place: str) -> None:
    """It is named with its place before any device is looked at."""
    with pytest.raises(NotEvaluatedError, match=place):
        Selector(expression)


def test_a_version_in_a_list() -> None:
    """cel-go fails where all items of the list are written out, and does not where one is an attribute."""
    with pytest.raises(NotEvaluatedError, match="in a list"):
        Selector(f'{OWN}.version in ["1.10.0-rc.1"]').matches(DRIVER, GPU)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        # 4000 characters times a pattern of 81, of which 16 are one step.
        (f"'{'a' * 4000}'.matches('{'a*' * 40}b')", "an evaluation of more than 20000 steps"),
        # 100 times 4000 characters.
        (f"cel.bind(t, '{'A' * 4000}', {' || '.join(['t.lowerAscii() == t'] * 100)})", "an evaluation of more than 20000 steps"),
        (f"quantity('{'0' * 5000}1') == quantity('1')", "a quantity of more than 64 characters"),
    ],
)
def test_what_takes_too_long(expression: str, said: str) -> None:
    """What is written in a selector bounds what its evaluation costs."""
    answer = Selector(expression).answer(DRIVER, GPU)
    assert isinstance(answer.said, NotEvaluatedError)
    assert said in str(answer.said)
    assert answer.steps <= MOST_STEPS + 4000 * 81 // 16


def test_a_pattern_that_makes_other_engines_go_back_and_forth() -> None:
    """RE2 reads the text once. The charge is characters times pattern length: 3000 x 7, of which 16 are one step."""
    expression = f"'{'a' * 3000}'.matches('a*a*a*b')"
    assert Selector(expression).answer(DRIVER, GPU) == Answer(said=False, steps=7 + 3000 * 7 // 16)


def test_many_operands_need_no_stack() -> None:
    """The same operator again and again is one part of many operands."""
    assert Selector(f"{'false||' * 900}true").matches(DRIVER, GPU)
    assert not Selector(f"{'true&&' * 900}false").matches(DRIVER, GPU)


def test_versions_in_their_order() -> None:
    """The example of semver.org, section 11."""
    texts = ("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1")
    ordered = [*texts, "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"]
    backwards = ordered[::-1]
    assert sorted(backwards, key=lambda text: semver(text).key) == ordered


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1.0",
        "01.0.0",
        "1.0.0-",
        "1.0.0-01",
        "1.0.0+",
        "v1.0.0",
        "1.0.0-a..b",
        "1.0.x",
        "",
        f"1.0.{2**64}",
        f"1.0.0-{2**64}",
        "9" * 5000 + ".0.0",
    ],
)
def test_what_is_no_version(text: str) -> None:
    """Three numbers without leading zeros; the parts behind them are never empty."""
    with pytest.raises(SelectorError, match="not a semantic version"):
        semver(text)
