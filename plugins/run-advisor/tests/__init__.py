"""The plugin in plain Python, with the SDK of the repository: `python -m unittest discover -s tests -t .` beside it."""

import sys
from pathlib import Path

PLUGIN = Path(__file__).parent.parent
sys.path[:0] = [str(PLUGIN), str(PLUGIN.parent.parent / "sdk" / "python" / "src")]
