"""Print a name for Numba's cache folder: a hash of all that compiled code depends on."""

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

key = hashlib.sha256(f"{version('numba')} {os.environ.get('NUMBA_BOUNDSCHECK', '0')}".encode())
for path in sorted((Path(__file__).parent.parent / "src").rglob("*.py")):
    key.update(path.read_bytes())
checked = "-checked" if os.environ.get("NUMBA_BOUNDSCHECK") == "1" else ""
print(key.hexdigest()[:16] + checked)
