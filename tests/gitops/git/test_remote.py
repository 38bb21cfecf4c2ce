"""Which addresses and refs are followed."""

import pytest

from reconciler.gitops.git.remote import PROTOCOLS, checked_remote, remote_ref
from reconciler.gitops.git.tree_names import RefusedNameError


@pytest.mark.parametrize(("url", "protocol", "origin"), [
    ("https://git.example.org/team/policies.git", "https", "https://git.example.org"),
    ("https://git.example.org:8443/policies", "https", "https://git.example.org:8443"),
    ("HTTPS://git.example.org/p", "https", "https://git.example.org"),
    ("ssh://git@git.example.org/policies.git", "ssh", "ssh://git.example.org"),
    ("ssh://[2001:db8::1]:22/p", "ssh", "ssh://[2001:db8::1]:22"),
    ("git@git.example.org:team/policies.git", "ssh", "ssh://git.example.org"),
])  # fmt: skip
def test_addresses(url: str, protocol: str, origin: str):
    """https and ssh in all their spellings; the origin is what credentials belong to."""
    remote = checked_remote(url)
    assert (remote.url, remote.protocol, remote.origin) == (url, protocol, origin)


@pytest.mark.parametrize(("url", "told"), [
    ("ext::sh -c touch% /tmp/x", "blanks"), ("ext::touch", "remote helper"), ("fd::7", "remote helper"),
    ("ssh-helper::https://x/y", "remote helper"), ("--upload-pack=touch", "is an option"), ("", "is empty"),
    ("-oProxyCommand=touch@host:x", "is an option"), ("ssh://-oProxyCommand=touch/x", "invalid host name"),
    ("ssh://-oProxyCommand@host/x", "invalid user name"), ("git@-oProxyCommand=touch:x", "not a repository address"),
    ("git@host:-x", "address"), ("https://token@host/x", "--git-password-file"), ("https://u:p@host/x", "--git-password-file"),
    ("ssh://u:p@host/x", "--git-password-file"), ("https://host/x?token=1", "a query"), ("https://host/x#y", "a query"),
    ("https://host/%2e%2e/x", "percent"), ("https://host", "no path"), ("https:///x", "invalid host name"),
    ("https://h:x/y", "address"),
    ("http://host/x", "--git-protocol http"), ("git://host/x", "--git-protocol git"), ("file:///srv/x", "--git-protocol file"),
    ("ftp://host/x", "unsupported"), ("javascript://host/x", "unsupported"), ("/srv/x", "address"), ("../x", "address"),
    ("https://host/x\ny", "blanks"), ("https://h\u043est/x", "unprintable"), ("https://host/" + "x" * 3000, "longer than 2048"),
])  # fmt: skip
def test_refused_addresses(url: str, told: str):
    """Programs, options, secrets and protocols that were not allowed; the sentence never repeats the address."""
    with pytest.raises(RefusedNameError, match=told) as refused:
        checked_remote(url)
    assert len(url) < 8 or url not in str(refused.value)


@pytest.mark.parametrize("url", ["file://host/srv/x", "file://srv", "file:///srv/../x", "file://"])
def test_files_are_named_plainly(url: str):
    """Where file:// is allowed it is an absolute path of this machine."""
    with pytest.raises(RefusedNameError, match="not an absolute path"):
        checked_remote(url, PROTOCOLS)


@pytest.mark.parametrize(("name", "full"), [
    ("main", "refs/heads/main"), ("release/1.4", "refs/heads/release/1.4"), ("refs/tags/v1", "refs/tags/v1"),
    ("refs/pull/7/merge", "refs/pull/7/merge"), ("a" * 40, "a" * 40), ("b" * 64, "b" * 64),
])  # fmt: skip
def test_refs(name: str, full: str):
    """A plain name is a branch; other refs and commits are written whole."""
    assert remote_ref(name) == full


@pytest.mark.parametrize("name", [
    "--upload-pack=touch", "-x", "main:refs/heads/x", "refs/heads/*", "main~1", "main^", "main^{}", "main@{1}", "HEAD",
    "a..b", "", "a b", "a\nb", "a\x1bb", ".hidden/x", "x.lock", "x.lock/y", "x/", "/x", "a//b", "x.", "x" * 300,
])  # fmt: skip
def test_refused_refs(name: str):
    """What is an option, a refspec of several, a relative or no ref."""
    with pytest.raises(RefusedNameError):
        remote_ref(name)
