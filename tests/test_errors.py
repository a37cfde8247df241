"""The tree of errors."""

from __future__ import annotations

import inspect

from rsrae import errors


def test_every_error_can_be_caught_as_one() -> None:
    raised = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, Exception)]
    assert len(raised) >= 9
    for cls in raised:
        assert issubclass(cls, (errors.RsraeError, errors.RsraeWarning))


def test_bad_parameters_and_bad_rows_are_value_errors_for_scikit_learn() -> None:
    assert issubclass(errors.ParameterError, ValueError)
    assert issubclass(errors.InputError, ValueError)


def test_every_error_stands_in_the_tree_of_the_module_docstring() -> None:
    names = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    missing = [name for name in names if name not in (errors.__doc__ or "")]
    assert missing == []
