"""Kubeconfig files with everything inside, for one user each."""

import base64
from pathlib import Path

import yaml


def write_kubeconfig(path: Path, server: str, authority: Path, certificate: Path, key: Path) -> Path:
    """Write a kubeconfig with one context called `testbed`."""

    def inside(file: Path) -> str:
        return base64.b64encode(file.read_bytes()).decode()

    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority-data": inside(authority)}}],
        "users": [{"name": "user", "user": {"client-certificate-data": inside(certificate), "client-key-data": inside(key)}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
        "current-context": "testbed",
    }
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path
