"""Random requests of the OpenAPI document, by schemathesis: no answer may be a fault of the server.

    pip install schemathesis
    python benchmarks/serve_fuzz.py --examples 500

So many requests are made for each operation, of bodies that fit the schema and of bodies that do not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from serve.server import started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=500, help="for each operation")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = started(Path(folder, "data"))
        Path(folder, "named.toml").write_text('[parameters]\nname = "default"\n')
        checks = "not_a_server_error,status_code_conformance,content_type_conformance"
        program = [sys.executable, "-m", "schemathesis.cli"]
        options = ["--checks", checks, "--max-examples", str(arguments.examples), "--phases", "examples,fuzzing"]
        run = ["run", f"{server.url}/openapi.json", *options, "--mode", "all", "--continue-on-failure"]
        named = ["--config-file", str(Path(folder, "named.toml"))]
        example = {"record": {"plan": "basic", "age": 31, "note": "wants a refund"}, "label": "leaves"}
        try:
            with server.client() as http:  # so that there is something to be asked about
                http.post("/v1/models/default/learn", json=example).raise_for_status()
            subprocess.run([*program, *named, *run, "--exclude-method", "DELETE"], check=True, cwd=folder)
            subprocess.run([*program, *run], check=True, cwd=folder)  # models of random names, mostly not there
        except subprocess.CalledProcessError as error:
            sys.exit(error.returncode)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
