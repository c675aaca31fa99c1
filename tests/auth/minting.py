"""Make the credentials that the table of tokens describes, by the book and without our own code."""

import base64
import hashlib
import hmac
import json
import re
from pathlib import Path
from typing import Any

Row = dict[str, Any]

TABLE: Row = json.loads((Path(__file__).parent.parent / "spec" / "tokens.json").read_text())
HASHES = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}


def settings_of(row: Row) -> Row:
    return {**TABLE["settings"], **row.get("settings", {})}


def mint(recipe: str | Row, now_s: int) -> str:
    """Make the credential of one recipe."""
    if isinstance(recipe, str):
        return recipe
    header = encode(part(recipe.get("header", {}), TABLE["header"], now_s))
    claims = encode(payload(recipe, now_s))
    signature = sign(f"{header}.{claims}", recipe.get("signed", "HS256"))
    if "swapped" in recipe:
        claims = encode(part(recipe["swapped"], TABLE["claims"], now_s))
    text = f"{header}.{claims}.{signature}"
    old, new = recipe.get("replace", ("", ""))
    assert old in text, "the recipe replaces nothing"
    if old:
        text = text.replace(old, new)
    return f"{recipe.get('before', '')}{text}{recipe.get('after', '')}"


def signed(claims: Row, now_s: int) -> str:
    """Make a good token that has exactly these claims."""
    return mint({"payload": json.dumps(claims)}, now_s)


def unsigned(**claims: object) -> str:
    """Make a token that nobody signed, as the emulator takes it, and development mode."""
    parts = ({"alg": "none", "type": "JWT"}, claims)
    return ".".join([*(encode(json.dumps(part).encode()) for part in parts), ""])


def payload(recipe: Row, now_s: int) -> bytes:
    if "payload" in recipe:
        return timed(pieces(recipe["payload"]), now_s)
    return part(recipe.get("claims", {}), TABLE["claims"], now_s)


def part(given: str | Row, usual: Row, now_s: int) -> bytes:
    if isinstance(given, str):
        return given.encode()
    merged = {name: value for name, value in (usual | given).items() if value is not None}
    return timed(json.dumps(merged).encode(), now_s)


def pieces(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, list):
        return b"".join(map(pieces, text))
    if "hex" in text:
        return bytes.fromhex(text["hex"])
    return str(text["repeat"]).encode() * int(text["times"])


def timed(data: bytes, now_s: int) -> bytes:
    return re.sub(rb'"@now([+-]\d+)?"', lambda at: b"%d" % (now_s + int(at[1] or 0)), data)


def sign(content: str, how: str | Row) -> str:
    if how == "none":
        return ""
    algorithm = how if isinstance(how, str) else "HS256"
    given = {} if isinstance(how, str) else how
    secret = given.get("secret", TABLE["settings"]["auth_secret"])
    signature = bytearray(
        hmac.digest(secret.encode(), content.encode(), HASHES[algorithm])
        if secret
        else hmac.new(b"", content.encode(), hashlib.sha256).digest()
    )
    if "bit" in given:
        signature[given["bit"] // 8] ^= 1 << given["bit"] % 8
    return encode(bytes(signature))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
