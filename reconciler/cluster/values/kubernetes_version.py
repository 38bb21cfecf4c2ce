"""Versions of Kubernetes components."""

import re

# Major, minor, patch: `v1.36.3` is (1, 36, 3); what a vendor adds behind (`-eks-3c60543`, `+k3s1`) says nothing here.
KubernetesVersion = tuple[int, int, int]
_FORM = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?![\d.])")


def kubernetes_version(text: str) -> KubernetesVersion | None:
    """A version as `/version` and nodes tell it; None for any other text."""
    match = _FORM.match(text)
    if match is None:
        return None
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch or 0)
