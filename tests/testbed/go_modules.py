"""Files that Go modules carry beside their code: definitions, manifests."""

import subprocess
from pathlib import Path

from tests.testbed.toolchain import NotAvailableError, go_binary, go_environment


def module_directory(module: Path, name: str) -> Path:
    """Where the source of a required module lies, downloaded if need be. Raises NotAvailableError."""
    command = [str(go_binary(module / "go.mod")), "list", "-m", "-f", "{{.Dir}}", name]
    for attempt in (["go", "mod", "download", name], None):
        done = subprocess.run(command, check=False, cwd=module, env=go_environment(), capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip():
            return Path(done.stdout.strip())
        if attempt:
            subprocess.run([command[0], *attempt[1:]], check=False, cwd=module, env=go_environment(), capture_output=True)
    raise NotAvailableError(f"the module {name} cannot be downloaded: {done.stderr.strip()}")
