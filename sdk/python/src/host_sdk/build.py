"""Makes a component of a callback: `python -m host_sdk.build FILE.py`.

Runs `componentize-py`, which has to be installed; does not compile anything itself.
"""

import argparse
import importlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from host_sdk.callback import Callback
from host_sdk.plugin import Plugin

PACKAGE = Path(__file__).parent
ENTRY = "host_sdk_entry"
"""The module that `componentize-py` is given. It makes the class that it looks for out of the author's."""


class BuildError(Exception):
    """A component can't be built. The words are for whoever asked for it."""


def build(source: Path, output: Path | None = None, name: str | None = None) -> Path:
    """Builds a component and gives its path.

    The author's module is imported twice: here, where a mistake shows as usual, and in the component's own Python.
    Whatever it imports is part of the component; a module that is imported later than that is not.

    Args:
        source: A file `NAME.py`, or a folder that is a package.
        output: Where the component goes; without it, `<name in the manifest>.wasm` in the current folder.
        name: The class, where the module has several callbacks.

    Raises:
        BuildError: There is no such callback, or `componentize-py` is missing or fails.
        TypeError: The callback's manifest, settings or state are not what they have to be.
    """
    source = source.resolve()
    if not (source.suffix == ".py" and source.is_file() or (source / "__init__.py").is_file()):
        raise BuildError(f"{source} is neither a Python file nor a package")
    kind = find(source, name)
    plugin = Plugin(kind)
    output = (output or Path(f"{plugin.manifest.name}.wasm")).resolve()
    with tempfile.TemporaryDirectory() as folder:
        entry = Path(folder) / f"{ENTRY}.py"
        # The class is not called `Callback` there, which is the name of what is exported.
        entry.write_text(
            "from host_sdk.component import Component\n"
            f"from {source.stem} import {kind.__name__} as Author\n\n"
            "Callback = Component(Author)\n"
        )
        paths = [folder, str(source.parent), str(PACKAGE.parent)]
        command = [_tool(), "--wit-path", str(PACKAGE / "wit"), "--world", "plugin", "componentize", ENTRY]
        command += [argument for path in paths for argument in ("--python-path", path)]
        done = subprocess.run([*command, "--output", str(output)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"componentize-py failed:\n{done.stderr or done.stdout}")
    return output


def find(source: Path, name: str | None = None) -> type[Callback]:
    """The callback of a module: the class of a name, or the only one that the module itself has.

    Raises:
        BuildError: There is none, or more than one.
    """
    sys.path.insert(0, str(source.parent))
    try:
        module = importlib.import_module(source.stem)
    finally:
        sys.path.remove(str(source.parent))
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Callback) and value.__module__.startswith(module.__name__)
    }
    if name is not None:
        found = {key: value for key, value in found.items() if key == name}
    if len(found) != 1:
        which = f"a callback {name}" if name else "exactly one callback"
        raise BuildError(f"{source} has to have {which}; it has {', '.join(found) or 'none'}")
    return next(iter(found.values()))


def _tool() -> str:
    """Where `componentize-py` is: beside this Python, or on the path."""
    beside = sysconfig.get_path("scripts")
    tool = shutil.which("componentize-py", path=beside) or shutil.which("componentize-py")
    if tool is None:
        raise BuildError("componentize-py is not installed; get it with `pip install componentize-py==0.25.1`")
    return tool


def main() -> int:
    """The command line. 0 is success, 1 that the component can't be built."""
    parser = argparse.ArgumentParser(prog="python -m host_sdk.build", description="Makes a component of a callback.")
    parser.add_argument("source", type=Path, help="a Python file, or the folder of a package")
    parser.add_argument("-o", "--output", type=Path, help="the component; default: <name in the manifest>.wasm")
    parser.add_argument("--class", dest="name", help="the callback, where the module has several")
    arguments = parser.parse_args()
    try:
        output = build(arguments.source, arguments.output, arguments.name)
    except (BuildError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{output} ({output.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
