import pytest
from hypothesis import given
from hypothesis import strategies as st

from treedb.auth.admin_token import AdminToken, check_admin_token, make_admin_token
from treedb.errors import SettingsError

TOKEN = "5f1d-an-admin-token-for-tests-5f1d"


def test_the_token_matches() -> None:
    assert AdminToken.of(TOKEN).matches(TOKEN)


@given(st.text(st.characters(codec=None)) | st.sampled_from([TOKEN[:-1], TOKEN + "d", TOKEN[1:]]))
def test_no_other_text_matches(text: str) -> None:
    assert AdminToken.of(TOKEN).matches(text) == (text == TOKEN)


def test_the_token_itself_is_not_kept() -> None:
    assert TOKEN not in repr(AdminToken.of(TOKEN))


@pytest.mark.parametrize(
    "bits, text",
    [
        (0, "0" * 64),
        (2**256 - 1, "f" * 64),
        (0xA1, "0" * 62 + "a1"),
    ],
)
def test_a_token_is_made_of_256_random_bits(bits: int, text: str) -> None:
    asked: list[int] = []

    def random_bits(count: int) -> int:
        asked.append(count)
        return bits

    assert make_admin_token(random_bits) == text
    assert asked == [256]
    check_admin_token(text)


@pytest.mark.parametrize("text", ["x", TOKEN, "!~", "a" * 8192])
def test_visible_ascii_is_allowed(text: str) -> None:
    check_admin_token(text)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "has 0 characters"),
        ("a" * 8193, "has 8193 characters"),
        ("two words", "visible ASCII"),
        ("line\n", "visible ASCII"),
        ("\u00e9", "visible ASCII"),
        ("\udcff", "visible ASCII"),
        ("owner", "which everybody knows"),
    ],
)
def test_a_token_nobody_could_send_or_everybody_knows_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        AdminToken.of(text)
