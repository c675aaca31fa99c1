"""The two ways a value is written as JSON text."""

from enum import Enum


class Form(Enum):
    """PLAIN as REST answers by default, EXPORT as `format=export` and the realtime protocol do.

    Plain drops priorities and turns array-like objects into arrays; export keeps priorities and
    never makes arrays. Source: Firebase's REST reference, `format`.
    """

    PLAIN = "plain"
    EXPORT = "export"
