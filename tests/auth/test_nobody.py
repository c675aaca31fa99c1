import pytest

from treedb.auth.nobody import refuse_credential
from treedb.errors import InvalidToken


@pytest.mark.parametrize("text", ["", "owner", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."])
def test_no_credential_counts(text: str) -> None:
    with pytest.raises(InvalidToken):
        refuse_credential(text)
