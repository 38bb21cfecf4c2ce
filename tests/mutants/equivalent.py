"""Changes that change nothing that anybody could see, by file: the change as it is printed, and why no test can be red."""

EQUIVALENT: dict[str, dict[str, str]] = {}
