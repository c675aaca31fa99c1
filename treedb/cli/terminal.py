"""What a terminal can show."""

import sys


def printable(text: str) -> str:
    """Return a text with what the terminal's encoding lacks, or no encoding has, written out."""
    encoding = sys.stdout.encoding
    return text.encode(encoding, "backslashreplace").decode(encoding)
