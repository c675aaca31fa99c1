"""Where settings come from: command line, then environment, then treedb.toml, then defaults.

Everything here follows the table that `treedb.config.Settings` is. A source with a wrong value or
an unknown name stops the start: the sentence names the source, what was found and what is allowed.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from treedb.config import Settings
from treedb.errors import SettingsError
from treedb.server.hosts import ANY, parse_host_pattern
from treedb.server.origins import parse_origin

FILE: Final = "treedb.toml"
PREFIX: Final = "TREEDB_"
MAX_PORT: Final = 65535
SIDES: Final = ("source", "target", "union")  # as `Side` has them, whose import takes long


def load_settings(
    given: Mapping[str, object], environment: Mapping[str, str], folder: Path
) -> Settings:
    """Put the settings together.

    `given` are the options of the command line by setting's name, None where one was left out;
    `folder` is where treedb.toml may be. Raises SettingsError.
    """
    file = folder / FILE
    in_file = _read_file(file)
    chosen: dict[str, Any] = {}
    for setting in fields(Settings):
        name = setting.name
        sources = (
            (option_of(name), given.get(name)),
            (variable_of(name), environment.get(variable_of(name))),
            (f"{file}: {name}", in_file.get(name)),
        )
        for source, found in sources:
            if found is not None:
                chosen[name] = _value_of(setting, source, found)
                break
    return Settings(**chosen)


def option_of(name: str) -> str:
    """Return a setting's option of the command line."""
    return "--" + name.replace("_", "-")


def variable_of(name: str) -> str:
    """Return a setting's variable of the environment."""
    return PREFIX + name.upper()


def default_of(setting: "Field[Any]") -> str:
    """Write a setting's default as in treedb.toml, without quotes; "" when there is none."""
    default = setting.default
    if default is None:
        return ""
    if isinstance(default, tuple):
        return ", ".join(default)
    return str(default).lower() if isinstance(default, bool) else str(default)


def settings_reference() -> str:
    """Return the table of all settings, in Markdown, for docs/reference/settings.md."""
    lines = [
        "| name | option | environment | takes | default | |",
        "|---|---|---|---|---|---|",
    ]
    for setting in fields(Settings):
        name, default = setting.name, default_of(setting)
        lines.append(
            f"| `{name}` | {_shown_option(setting)} | `{variable_of(name)}` "
            f"| {_kind(setting).allowed} "
            f"| {f'`{default}`' if default else 'none'} | {setting.metadata['about']} |"
        )
    return "\n".join(lines) + "\n"


def _shown_option(setting: "Field[Any]") -> str:
    # What is on a command line, every process of the machine can read.
    return "none" if setting.metadata["takes"] == "secret" else f"`{option_of(setting.name)}`"


# The file


def _read_file(file: Path) -> dict[str, object]:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is no TOML: {error}.") from error
    names = [setting.name for setting in fields(Settings)]
    for name in found:
        if name not in names:
            close = get_close_matches(name, names, 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise SettingsError(
                f"{file}: there is no setting {name!r}; allowed: {', '.join(names)}.{hint}"
            )
    return found


# Values: typed from the command line and from TOML, text from the environment. A list may be text
# with commas everywhere, and an option with a list may be given more than once.


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of setting; `read` returns None for what is not allowed."""

    allowed: str
    read: Callable[[object], object]


def _address(found: object) -> str | None:
    return found if isinstance(found, str) and found and not found.isspace() else None


def _port(found: object) -> int | None:
    if isinstance(found, str) and found.isascii() and found.isdecimal():
        found = int(found[:6])
    if not isinstance(found, int) or isinstance(found, bool):
        return None
    return found if 0 <= found <= MAX_PORT else None


def _switch(found: object) -> bool | None:
    if isinstance(found, str):
        return _SWITCH_WORDS.get(found.lower())
    return found if isinstance(found, bool) else None


def _folder(found: object) -> Path | None:
    if isinstance(found, Path):
        return found
    return Path(found) if isinstance(found, str) and found else None


def _side(found: object) -> str | None:
    return found if isinstance(found, str) and found in SIDES else None


def _text(found: object) -> str | None:
    return found if isinstance(found, str) and found else None


def _hosts(found: object) -> tuple[str, ...] | None:
    return _list(found, parse_host_pattern)


def _origins(found: object) -> tuple[str, ...] | None:
    return _list(found, lambda each: each if each == ANY or parse_origin(each) else None)


def _list(found: object, read: Callable[[str], str | None]) -> tuple[str, ...] | None:
    """Read every entry of a list; None when there is one that is not allowed."""
    given: list[object] = found if isinstance(found, list) else [found]
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        return None
    entries = [read(each.strip()) for text in texts for each in text.split(",")]
    known = tuple(each for each in entries if each is not None)
    return known if len(known) == len(entries) else None


_SWITCH_WORDS: Final = {"true": True, "1": True, "false": False, "0": False}
_KINDS: Final = {
    "address": _Kind("an address or a host's name", _address),
    "port": _Kind(f"a whole number from 0 to {MAX_PORT}", _port),
    "switch": _Kind("true or false", _switch),
    "folder": _Kind("a folder's path", _folder),
    "file": _Kind("a file's path", _folder),
    "side": _Kind(", ".join(SIDES), _side),
    "text": _Kind("text that is not empty", _text),
    "hosts": _Kind("hosts' names without ports, `*.` before one for all below it, or `*`", _hosts),
    "origins": _Kind(
        "origins as browsers write them, such as `https://example.org`, or `*`", _origins
    ),
    "secret": _Kind("text, from the environment or treedb.toml only", _text),
}


def _kind(setting: "Field[Any]") -> _Kind:
    return _KINDS[setting.metadata["takes"]]


def _value_of(setting: "Field[Any]", source: str, found: object) -> object:
    kind = _kind(setting)
    value = kind.read(found)
    if value is None:
        if setting.metadata["takes"] == "secret":
            raise SettingsError(f"{source} is empty or no text; allowed: {kind.allowed}.")
        shown = str(found) if isinstance(found, Path) else found
        raise SettingsError(f"{source} is {shown!r}; allowed: {kind.allowed}.")
    return value
