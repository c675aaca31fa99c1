import pytest

from treedb import errors
from treedb.server.openapi_schemas import SCHEMAS, UNSENT, answer, refusals

SENT = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, errors.TreeError) and each not in UNSENT
]


@pytest.mark.parametrize("error", SENT, ids=lambda each: each.__name__)
def test_every_error_that_is_sent_stands_under_its_status(error: type[errors.TreeError]) -> None:
    described = refusals()[str(error.http_status)]
    is_told_by_the_value = error is errors.DataStale
    assert is_told_by_the_value or f"- `{error.text}`" in described["description"]


def test_a_refusal_has_a_body_of_the_one_kind() -> None:
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    assert [status for status, each in refusals().items() if each["content"] != body] == ["412"]


def test_some_refusals_have_headers() -> None:
    headers = {
        status: [*each["headers"]] for status, each in refusals().items() if "headers" in each
    }
    assert headers == {"405": ["Allow"], "412": ["ETag"], "503": ["Retry-After"]}


def test_an_answer_has_a_schema_for_its_type() -> None:
    assert answer("Text.", {"type": "string"}, "text/plain") == {
        "description": "Text.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }


def test_schemas_lead_to_schemas() -> None:
    text = str(SCHEMAS)
    assert all(
        part.partition("'")[0] in SCHEMAS for part in text.split("#/components/schemas/")[1:]
    )
