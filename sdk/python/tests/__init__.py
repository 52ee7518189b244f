"""The SDK and its example in plain Python. `python -m unittest` in this folder's parent runs them, also uninstalled."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]
