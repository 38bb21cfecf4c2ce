"""What a server says when it refuses: each field of a Status, and what stands in for one that is missing."""

import pytest

from reconciler.kube.connection.refusal_status import api_error


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        (b'{"details":{"retryAfterSeconds":7}}', {}, 7),
        (b'{"details":{"retryAfterSeconds":7}}', {"Retry-After": "3"}, 3),
        (b'{"details":{"retryAfterSeconds":7}}', {"Retry-After": "0"}, 7),
        (b"{}", {"Retry-After": "3"}, 3),
        (b"{}", {"Retry-After": "601"}, 600),
        (b"{}", {"Retry-After": "9" * 18}, 600),
        (b"{}", {"Retry-After": "9" * 19}, 0),
        (b'{"details":{"retryAfterSeconds":99999999}}', {}, 600),
        (b'{"details":{"retryAfterSeconds":-5}}', {}, 0),
        (b"{}", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0),
        (b"{}", {"Retry-After": "\u0663"}, 0),
        (b"{}", {}, 0),
        (b"<html>", {"Retry-After": "3"}, 3),
    ],
)
def test_how_long_to_wait(body: bytes, headers: dict[str, str], seconds: int) -> None:
    """The header counts before the Status' own field; neither waits longer than ten minutes. Dates are not read."""
    assert api_error(429, body, headers).retry_after_seconds == seconds


def test_the_fields_of_a_status() -> None:
    """Its code counts before that of HTTP (an ERROR event has none), the reason stands in for a missing message."""
    error = api_error(500, b'{"code":409,"reason":"Conflict","message":"m","details":{"causes":[{"reason":"r","message":"c"}]}}')
    assert (error.status, error.reason, error.message, len(error.causes)) == (409, "Conflict", "m", 1)
    error = api_error(410, b'{"reason":"Expired"}')
    assert (error.status, error.reason, error.message, error.causes) == (410, "Expired", "Expired", ())
    assert api_error(500, b"{}").message == "no message"
    assert api_error(500, b'{"details":{"causes":null}}').causes == ()


def test_a_body_that_is_no_status() -> None:
    """One line of at most 300 characters, whatever it is."""
    assert api_error(502, b"<html>\n  bad   gateway</html>").message == "<html> bad gateway</html>"
    assert (api_error(502, b"x" * 300).message, api_error(502, b"x" * 301).message) == ("x" * 300, "x" * 300)
    assert api_error(502, b" ").message == api_error(502, b"").message == "no message"
    assert api_error(502, b"\xff\xfe").message == "\ufffd\ufffd"
