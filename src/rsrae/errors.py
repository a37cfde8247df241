"""Every error and warning the package raises.

::

    RsraeError                     something the user can put right; the command exits with 2
    ├── ParameterError             a parameter of a detector is out of range
    ├── InputError                 rows, images or documents that cannot be used
    │   └── SourceError            a file or folder that cannot be read
    ├── OutputError                a result that cannot be written
    ├── ModelFileError             a model file that is damaged, hostile or too new
    └── MissingExtraError          an optional dependency is not installed

    RsraeWarning                   the result stands, but look at this
    └── DataWarning                something in the data was left out or mended

``ParameterError`` and ``InputError`` are also ``ValueError``: that is what scikit-learn's
contract asks of an estimator.
"""


class RsraeError(Exception):
    """Base of all errors a user can put right."""


class ParameterError(RsraeError, ValueError):
    """A parameter of a detector is out of range."""


class InputError(RsraeError, ValueError):
    """Rows, images or documents that cannot be used."""


class SourceError(InputError):
    """A file or folder that cannot be read."""


class OutputError(RsraeError):
    """A result that cannot be written."""


class ModelFileError(RsraeError):
    """A model file that is damaged, hostile or too new."""


class MissingExtraError(RsraeError, ImportError):
    """An optional dependency is not installed."""


class RsraeWarning(UserWarning):
    """The result stands, but look at this."""


class DataWarning(RsraeWarning):
    """Something in the data was left out or mended."""
