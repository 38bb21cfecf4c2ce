import json
import subprocess
import sys
from pathlib import Path

from tests.differential.generator.cluster import generate
from tests.differential.ours import manifest, our_fit


def test_the_command_prints_what_is_compared(tmp_path: Path) -> None:
    """`reconciler fit -o json` prints, as JSON, the verdicts that the comparison reads from the functions behind it."""
    snapshot = generate(3, ["taints", "ports", "phases"])
    (tmp_path / "cluster.json").write_text(json.dumps(snapshot))
    (tmp_path / "snapshot.yaml").write_bytes(manifest(snapshot))
    command = [sys.executable, "-m", "reconciler", "fit", "--cluster", str(tmp_path), "-o", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == our_fit(snapshot)
