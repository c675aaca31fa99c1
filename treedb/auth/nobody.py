"""The answer to credentials where none can be checked: no secret and no development mode."""

from typing import NoReturn

from treedb.errors import InvalidToken


def refuse_credential(text: str) -> NoReturn:
    """Refuse any credential with InvalidToken."""
    raise InvalidToken
