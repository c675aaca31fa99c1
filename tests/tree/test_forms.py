"""There are two forms of JSON text."""

from treedb.tree.forms import Form


def test_the_forms_are_named_as_rest_names_them() -> None:
    assert {form.value for form in Form} == {"plain", "export"}
