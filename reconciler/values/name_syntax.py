"""The syntax of Kubernetes names, label keys and values, taints and resource names.

SOURCE: `k8s.io/apimachinery/pkg/util/validation`. A qualified name is an optional DNS subdomain of at most 253 characters, a
slash, and a name of at most 63 characters. A label value is empty or such a name without a slash.
"""

import re

from reconciler.values.shown_text import shown

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


def object_name_fault(text: str) -> str:
    """What is wrong with the name of an object (a DNS subdomain), or an empty string."""
    if not text:
        return "is empty"
    if len(text) > 253:
        return f"is {len(text)} characters long, the limit is 253"
    if not _SUBDOMAIN.fullmatch(text):
        return "must be lower-case letters, digits, '-' and '.', and start and end with a letter or digit"
    return ""


def item_name_fault(text: str) -> str:
    """What is wrong with the name of a list item (tier, limit, window), or an empty string."""
    if not text:
        return "is empty"
    if len(text) > 63:
        return f"is {len(text)} characters long, the limit is 63"
    if not _NAME.fullmatch(text):
        return "must be letters, digits, '-', '_' and '.', and start and end with a letter or digit"
    return ""


def qualified_name_fault(text: str) -> str:
    """What is wrong with a label key, taint key or resource name, or an empty string."""
    prefix, slash, name = text.rpartition("/")
    if slash and not prefix:
        return "has nothing before its slash"
    if prefix and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return f"has a prefix {shown(prefix)} that is not a DNS name"
    return item_name_fault(name)


def key_or_prefix_fault(text: str) -> str:
    """What is wrong with a key of a taint, or with the beginning of keys, which ends with `*`; or an empty string."""
    if not text.endswith("*"):
        return qualified_name_fault(text)
    prefix = text.removesuffix("*")
    return qualified_name_fault(f"{prefix}x") if prefix else "has nothing before its *"


def label_value_fault(text: str) -> str:
    """What is wrong with a label or taint value, or an empty string."""
    return item_name_fault(text) if text else ""


def resource_name_fault(text: str, plain: tuple[str, ...] = _PLAIN_RESOURCES, prefix: str = "") -> str:
    """What is wrong with a resource name, or an empty string. `plain` are the names allowed without a domain, as are those that
    begin with `prefix` (empty: none)."""
    if text in plain or (text.startswith("hugepages-") and len(text) > len("hugepages-")):
        return ""
    if prefix and text.startswith(prefix) and len(text) > len(prefix):
        return item_name_fault(text.removeprefix(prefix))
    if "/" not in text:
        return f"is not a resource name. Write {', '.join(plain)}, hugepages-SIZE or DOMAIN/NAME"
    return qualified_name_fault(text)
