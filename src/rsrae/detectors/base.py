"""Everything public that detectors have in common, once.

Signs. ``anomaly_score`` is the number people read: higher is stranger. ``score_samples`` and ``decision_function``
are scikit-learn's: lower is stranger, and ``predict`` gives -1 for an anomaly and 1 for a normal item. The sign flips
in ``score_samples`` and nowhere else.

A detector writes ``_fit`` and ``_score`` (and, to be saved, ``_state`` and ``_restore``). Parameters are declared
once: a subclass takes those it shares as ``**common``, and its full signature, which scikit-learn and ``help`` read, is
put together here.
"""

from __future__ import annotations

import inspect
import math
import os
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rsrae import modelfile
from rsrae.errors import InputError, ModelFileError, ParameterError
from rsrae.modelfile import Arrays
from rsrae.thresholds import FloatArray, check_contamination, threshold

Rows = npt.NDArray[Any] | sp.csr_array  # a table, sparse rows, or images (n, h, w, c)

# Integer types that float32 holds exactly; wider ones become float64.
_NARROW = (np.bool_, np.uint8, np.int8, np.uint16, np.int16, np.float16)


class BaseDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """The contract of all detectors.

    Attributes
    ----------
    offset_ : the line: an item whose ``score_samples`` lies below it is an anomaly.
    n_features_in_ : number of columns (for images: of pixel values) seen in ``fit``.
    feature_names_in_ : names of the columns, if ``fit`` saw a DataFrame with string names.
    input_shape_ : ``(columns,)`` or ``(height, width, channels)``.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"table", "sparse", "images"})
    """Kinds of input this detector takes: "table", "sparse", "images"."""

    contamination: float | str
    random_state: Any
    input_shape_: tuple[int, ...]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            return
        own = inspect.signature(cls.__init__)
        if any(p.kind is p.VAR_KEYWORD for p in own.parameters.values()):
            inherited = inspect.signature(super(cls, cls).__init__).parameters
            mine = {n: p for n, p in own.parameters.items() if p.kind is not p.VAR_KEYWORD}
            merged = [*mine.values(), *(p for n, p in inherited.items() if n not in mine)]
            cls.__init__.__signature__ = own.replace(parameters=merged)  # type: ignore[attr-defined]

    # -- scikit-learn's contract -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what most items share.

        Parameters
        ----------
        X : array or DataFrame ``(n, columns)``, scipy sparse matrix, or images ``(n, h, w)`` or ``(n, h, w, c)``.
        y : not used; there for scikit-learn.
        """
        check_contamination(self.contamination)
        rows = self._check_rows(X, reset=True)
        self._draw_line(rows, self._fit(rows))
        return self

    def anomaly_score(self, X: Any) -> FloatArray:
        """How strange each item is; higher is stranger."""
        check_is_fitted(self, "offset_")
        return self._score(self._check_rows(X, reset=False))

    def score_samples(self, X: Any) -> FloatArray:
        """The opposite of ``anomaly_score``: lower is stranger."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> FloatArray:
        """``score_samples`` shifted so that anomalies are negative."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """-1 for an anomaly, 1 for a normal item."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None) -> npt.NDArray[np.int64]:
        """``fit(X).predict(X)``."""
        return self.fit(X).predict(X)

    # -- saving ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write the fitted detector to one file (safetensors with a JSON header; never pickle).

        ``extra`` is stored in the header as it is (plain JSON values) and comes back from
        :func:`rsrae.modelfile.read_header`.
        """
        check_is_fitted(self, "offset_")
        state, arrays = self._state()
        parameters = {name: _plain(name, value) for name, value in self.get_params(deep=False).items()}
        header = {
            "detector": type(self).__name__,
            "version": _version(),
            "parameters": parameters,
            "offset": self.offset_,
            "n_features_in": self.n_features_in_,
            "input_shape": list(self.input_shape_),
            "feature_names_in": list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
            "n_rows_held": _n_rows_held(arrays),
            "state": state,
            "extra": extra or {},
        }
        modelfile.write_model(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> Self:
        """Read a detector that ``save`` wrote.

        ``parameters`` replace stored ones that a file cannot hold: a device of another machine, or modules and
        callables of the user's own.
        """
        header, arrays = modelfile.read_model(path)
        if header.get("detector") != cls.__name__:
            raise ModelFileError(f"{path}: holds a {header.get('detector')!r}, not a {cls.__name__!r}; use rsrae.load")
        return cls._from_file(path, header, arrays, parameters)

    @classmethod
    def _from_file(
        cls, path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays, parameters: dict[str, Any]
    ) -> Self:
        try:
            if header["format"] < modelfile.FORMAT:
                cls._upgrade(header, arrays)
            stored = {name: _from_plain(value) for name, value in header["parameters"].items()}
            detector = cls(**(stored | parameters))
            detector.offset_ = float(header["offset"])
            detector.n_features_in_ = int(header["n_features_in"])
            detector.input_shape_ = tuple(int(side) for side in header["input_shape"])
            names = header["feature_names_in"]
            _check_header(detector.input_shape_, detector.n_features_in_, names, detector.offset_)
            if names is not None:
                detector.feature_names_in_ = np.array(names, dtype=object)
            detector._restore(header["state"], arrays)
        except ParameterError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            raise ModelFileError(f"{path}: header and tensors do not fit together ({what})") from error
        return detector

    # -- what a detector writes ------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, X: Rows) -> FloatArray | None:
        """Learn from validated rows: a float table, CSR rows, or images ``(n, h, w, c)``.

        Returns their scores where they are known by then.
        """

    @abstractmethod
    def _score(self, X: Rows) -> FloatArray:
        """Score validated rows; higher is stranger."""

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """What ``_restore`` needs: plain JSON values, and arrays by name."""
        raise ModelFileError(f"{type(self).__name__} cannot be saved")

    @classmethod
    def _upgrade(cls, header: dict[str, Any], arrays: Arrays) -> None:
        """Change what a file of an older format holds to what the present one would; in place."""
        if header["format"] < 2 and "unit_norm" in header["state"]:
            header["state"]["brightness"] = 1.0

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        raise ModelFileError(f"{type(self).__name__} cannot be loaded")

    # -- shared inside ---------------------------------------------------------------------------------------------

    def _draw_line(self, rows: Rows, scores: FloatArray | None) -> None:
        scores = self._score(rows) if scores is None else scores
        self.offset_ = -threshold(scores, self.contamination)  # type: ignore[arg-type]

    def _seed(self) -> int:
        """A seed for generators of our own; global generators are left alone."""
        return int(self._random_generator().randint(2**31 - 1))

    def _random_generator(self) -> np.random.RandomState:
        try:
            generator: np.random.RandomState = check_random_state(self.random_state)
        except ValueError as error:
            raise ParameterError(
                f"random_state must be None, a whole number or a RandomState, got {self.random_state!r}"
            ) from error
        return generator

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        if not sp.issparse(X) and getattr(X, "ndim", 2) in (3, 4):
            return self._check_images(X, reset=reset)
        if not reset and len(self.input_shape_) == 3:
            raise InputError(f"fitted on images of shape {self.input_shape_}, got rows of shape {np.shape(X)}")
        if self.accepts == {"images"}:
            raise InputError(
                f"{type(self).__name__} takes images (n, h, w) or (n, h, w, c) only, got shape {np.shape(X)}"
            )
        if sp.issparse(X) and "sparse" not in self.accepts:
            raise InputError(
                f"{type(self).__name__} takes no sparse rows; if they fit into memory, make them dense with X.toarray()"
            )
        if isinstance(X, np.ndarray) and X.dtype.type in _NARROW:
            X = X.astype(np.float32)
        try:
            rows: Any = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr" if "sparse" in self.accepts else False,
                dtype=[np.float64, np.float32],
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        if reset:
            self.input_shape_ = (int(rows.shape[1]),)
        if not isinstance(rows, np.ndarray):
            rows = _with_short_indices(sp.csr_array(rows))
            rows.sum_duplicates()
        checked: Rows = rows
        return checked

    def _check_images(self, X: Any, *, reset: bool) -> Rows:
        if "images" not in self.accepts:
            raise InputError(
                f"{type(self).__name__} takes tables only, got shape {np.shape(X)}; flatten the images with "
                "X.reshape(len(X), -1)"
            )
        images: npt.NDArray[Any] = np.asarray(X)
        if images.dtype.kind not in "biuf":
            raise InputError(f"images must hold numbers, got {images.dtype}")
        if images.ndim == 3:
            images = images[..., None]
        if images.shape[0] < (2 if reset else 1) or 0 in images.shape:
            raise InputError(
                f"Found array with shape {images.shape}: at least two images, none of them empty, are needed"
            )
        if images.dtype != np.uint8:
            if images.dtype != np.float32:
                images = images.astype(np.float32 if images.dtype.type in _NARROW else np.float64, copy=False)
            if not np.isfinite(images).all():
                raise InputError("Input images contain NaN or infinity; mend or drop them first")
        if reset:
            self.input_shape_ = tuple(int(side) for side in images.shape[1:])
            self.n_features_in_ = int(np.prod(self.input_shape_))
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif tuple(images.shape[1:]) != tuple(self.input_shape_):
            raise InputError(f"fitted on images of shape {self.input_shape_}, got {images.shape[1:]}; resize them")
        return images

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = "sparse" in self.accepts
        tags.input_tags.three_d_array = "images" in self.accepts
        tags.input_tags.two_d_array = self.accepts != {"images"}
        return tags


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless a parameter has one of these values."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_count(name: str, value: Any, *, at_least: int = 1, or_auto: bool = False) -> None:
    """Raise unless a parameter is a whole number, and not too small; or "auto", if it may be."""
    if or_auto and isinstance(value, str) and value == "auto":
        return
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < at_least:
        auto = "'auto' or " if or_auto else ""
        raise ParameterError(f"{name} must be {auto}a whole number of at least {at_least}, got {value!r}")


def check_number(name: str, value: Any, *, positive: bool = True) -> None:
    """Raise unless a parameter is a finite number above zero, or, with ``positive=False``, not below it."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0 or (positive and value == 0):
        kind = "a positive number" if positive else "a number not below zero"
        raise ParameterError(f"{name} must be {kind}, got {value!r}")


def _n_rows_held(arrays: Arrays) -> int:
    """How many rows of the training data are among the arrays: dense, or as CSR."""
    dense, sparse = ("rows", "support_vectors"), ("rows.indptr", "support_vectors.indptr")
    n_dense = sum(len(array) for name, array in arrays.items() if name.endswith(dense))
    return n_dense + sum(len(array) - 1 for name, array in arrays.items() if name.endswith(sparse))


def _check_header(shape: tuple[int, ...], n_features: int, names: Any, offset: float) -> None:
    if len(shape) not in (1, 3) or min(shape) < 1 or math.prod(shape) != n_features:
        raise ValueError(f"{n_features} features, but items of shape {shape}")
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and not (is_list and len(names) == n_features):
        raise ValueError(f"{n_features} features need as many names")
    if not math.isfinite(offset):
        raise ValueError(f"the offset is {offset}")


def _plain(name: str, value: Any) -> Any:
    """A parameter as a JSON value; what JSON cannot hold is named, so that loading can ask for it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, (tuple, list)):
        return {"tuple": [_plain(name, part) for part in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return {"not stored": f"{name}={value!r}"}


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_from_plain(part) for part in value["tuple"]) if "tuple" in value else None
    return value


def _version() -> str:
    from rsrae import __version__

    return __version__


def _with_short_indices(rows: sp.csr_array) -> sp.csr_array:
    # Forests and SVMs of scikit-learn take no others; slicing and stacking often leave long ones behind.
    if rows.indices.dtype == np.int32 or max(rows.nnz, rows.shape[1]) > np.iinfo(np.int32).max:
        return rows
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sp.csr_array((rows.data, indices, starts), shape=rows.shape)
