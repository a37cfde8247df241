"""What detectors made of any torch network share, autoencoder or not.

``NeuralDetector`` owns the parameters of preprocessing and training. ``ModuleDetector`` adds one torch module
trained with autograd: such a detector says how the module is built (``_build``), what is minimised
(``_loss``), what is learnt after training (``_after_training``) and how rows are scored (``_row_scores``);
the loop, the model file and the seeds are here.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from rsrae.detectors.base import BaseDetector, Rows, check_choice, check_count, check_number
from rsrae.errors import InputError, ParameterError
from rsrae.modelfile import Arrays
from rsrae.networks.architecture import ACTIVATIONS, Architecture, choose_activation
from rsrae.networks.autograd import channels_first, flatten_parameters
from rsrae.networks.rows import BLOCK_VALUES, AnyRows, make_rows
from rsrae.preprocessing import Preprocessor, fit_preprocessor
from rsrae.thresholds import FloatArray
from rsrae.training import Adam, Epoch, Step, limited_threads, run_epochs, train
from rsrae.training import Rows as TrainingRows

MOST_ROWS = 20_000  # of an epoch, by epochs="auto"


class NeuralDetector(BaseDetector):
    """Base of the detectors that train a network.

    Parameters
    ----------
    scaling : "robust" (median and interquartile range per column), "unit-cube" (to [-1, 1]), "contrast" (the same, and
        most of each row's own mean taken off), "none", or "auto": robust for tables, contrast for images (unit-cube
        without ``unit_norm``), none for sparse rows and for tables that hold vectors, see
        :func:`rsrae.preprocessing.holds_vectors`; "auto-paper" is the same, but unit-cube for all images.
    tame : with robust scaling, pass each value through asinh, so that far values do not outweigh a row.
    unit_norm : scale each row to unit l2 norm; "auto": for sparse rows, images and tables of vectors.
    epochs : passes over the rows; "auto" makes them as many as give about 2,500 updates, between 10 and 100, and each
        takes 20,000 rows at most, drawn anew.
    batch_size, learning_rate : of Adam.
    contamination : share of anomalies in (0, 0.5] that draws the line, or "auto" to estimate it from the
        scores.
    on_epoch : called after every epoch (of all members) with a :class:`rsrae.training.Epoch`; return False to stop.
    random_state : seed, generator of numpy's, or None.
    device : where to compute: "cpu", "cuda", ...
    n_threads : threads while fitting and scoring; None chooses by the size of the problem.
    """

    def __init__(
        self,
        *,
        scaling: str = "auto",
        tame: bool = True,
        unit_norm: bool | str = "auto",
        epochs: int | str = 200,
        batch_size: int = 128,
        learning_rate: float = 2.5e-4,
        contamination: float | str = "auto",
        on_epoch: Callable[[Epoch], bool | None] | None = None,
        random_state: Any = None,
        device: str = "cpu",
        n_threads: int | None = None,
    ) -> None:
        self.scaling = scaling
        self.tame = tame
        self.unit_norm = unit_norm
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.contamination = contamination
        self.on_epoch = on_epoch
        self.random_state = random_state
        self.device = device
        self.n_threads = n_threads

    def preprocess(self, X: Any) -> npt.NDArray[np.float64]:
        """The items as the network sees them; dense."""
        check_is_fitted(self, "offset_")
        rows = self._rows_to_score(self._check_rows(X, reset=False))
        blocks = [batch if isinstance(batch, Tensor) else batch.to_dense() for batch in rows.blocks()]
        return to_numpy(torch.cat([block[0] for block in blocks]))

    def _fit_preprocessor(self, X: Rows) -> Preprocessor:
        return fit_preprocessor(X, scaling=self.scaling, tame=self.tame, unit_norm=self.unit_norm)

    def _rows_to_score(self, X: Rows) -> AnyRows:
        # Scored in double precision: a row then scores the same alone and in any batch.
        return make_rows(X, self.preprocessor_, dtype=torch.float64, device=self.device, cache=False)

    def _n_epochs(self, n_rows: int) -> int:
        if self.epochs != "auto":
            return int(self.epochs)
        # Updates, not passes, are what a network learns from: few rows need many passes, many rows few.
        return min(100, max(10, round(2_500 * self.batch_size / min(n_rows, self._most_rows() or n_rows))))

    def _most_rows(self) -> int | None:
        """Of an epoch, which are then drawn anew for each; None: all of them."""
        return MOST_ROWS if self.epochs == "auto" else None

    def _common_state(self) -> tuple[dict[str, Any], Arrays]:
        scaler = self.preprocessor_
        return scaler.settings() | {"history": self.history_}, scaler.arrays()

    def _restore_common(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.preprocessor_ = Preprocessor.restore(state, arrays)
        center, scale = self.preprocessor_.center, self.preprocessor_.scale
        self.history_ = {str(name): [float(v) for v in losses] for name, losses in state["history"].items()}
        if center.shape not in ((1,), self.input_shape_) or center.shape != scale.shape or not (scale > 0).all():
            raise ValueError("center and scale do not fit the input")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ValueError("the tensors hold NaN or infinity")
        self._check_parameters()

    def _threads(self) -> int | None:
        if self.n_threads is not None:
            return self.n_threads
        # Small matrix products lose more to waking threads than they gain.
        return 1 if len(self.input_shape_) == 1 else None

    def _check_parameters(self) -> None:
        check_count("epochs", self.epochs, or_auto=True)
        check_count("batch_size", self.batch_size)
        if self.n_threads is not None:
            check_count("n_threads", self.n_threads)
        check_number("learning_rate", self.learning_rate)
        check_choice("unit_norm", self.unit_norm, ("auto", True, False))
        check_choice("tame", self.tame, (True, False))
        try:
            torch.zeros(1, device=self.device).cpu()
        except (RuntimeError, AssertionError, TypeError) as error:
            first_line = str(error).splitlines()[0]
            raise ParameterError(f"device={self.device!r} cannot be used here: {first_line}") from error


class ModuleDetector(NeuralDetector):
    """A detector whose whole fitted state, beside preprocessing, is the state of one torch module.

    Attributes
    ----------
    module_ : the network, in scoring mode.
    history_ : the learning curve, ``{"loss": one value an epoch}``.
    """

    scoring_dtype: ClassVar[torch.dtype] = torch.float64
    module_: nn.Module

    # -- what a detector writes ------------------------------------------------------------------------------------

    @abstractmethod
    def _build(self, settings: dict[str, Any], generator: torch.Generator) -> nn.Module:
        """The module with its initial values, for ``input_shape_``."""

    @abstractmethod
    def _loss(self, batch: Any, generator: torch.Generator) -> Tensor:
        """What is minimised, of one batch of the training rows."""

    @abstractmethod
    def _row_scores(self, x: Tensor) -> Tensor:
        """Scores of preprocessed rows ``(rows, ...)``, channels first; higher is stranger."""

    @abstractmethod
    def _least_size(self) -> int:
        """A number of weights that the module surely has, from the parameters alone."""

    def _settings(self, low: float, high: float) -> dict[str, Any]:
        """What the module depends on beside parameters and shape: on the range of the values. Stored as JSON."""
        return {}

    def _training_rows(self, rows: AnyRows) -> TrainingRows[Any]:
        """What a batch of training is drawn from."""
        return rows

    def _after_training(self, X: Rows) -> None:
        """Learn what training leaves open (in buffers of the module), with the module in scoring mode."""

    # -- the contract ----------------------------------------------------------------------------------------------

    def _fit(self, X: Rows) -> None:
        self._check_parameters()
        generator = torch.Generator().manual_seed(self._seed())
        self.preprocessor_ = self._fit_preprocessor(X)
        low, high = value_range(make_rows(X, self.preprocessor_, cache=False))
        if not math.isfinite(high - low):
            raise InputError("the values, scaled, are too large for single precision; rescale or clip them first")
        self.settings_ = self._settings(low, high)
        self.module_ = self._make_module(generator)
        with limited_threads(self._threads()):
            self._train(X, generator)
            self.module_.to(self.scoring_dtype).eval()
            with torch.no_grad():
                self._after_training(X)

    def _score(self, X: Rows) -> FloatArray:
        with limited_threads(self._threads()), torch.no_grad():
            return to_numpy(torch.cat([self._row_scores(x) for x in self._blocks(X)]))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = {f"module.{name}": tensor.cpu().numpy() for name, tensor in self.module_.state_dict().items()}
        common_state, common_arrays = self._common_state()
        return {"settings": self.settings_} | common_state, arrays | common_arrays

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._restore_common(state, arrays)
        self._check_size(arrays)
        self.settings_ = dict(state["settings"])
        self.module_ = self._make_module(torch.Generator().manual_seed(0)).to(self.scoring_dtype).eval()
        held = {name: torch.from_numpy(arrays[f"module.{name}"]) for name in self.module_.state_dict()}
        self.module_.load_state_dict(held)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _check_size(self, arrays: Arrays) -> None:
        # A file may ask for a network of any size; built is none that is larger than the tensors that came with it.
        if self._least_size() > sum(array.size for array in arrays.values()):
            raise ValueError("the network would be larger than the file")

    def _make_module(self, generator: torch.Generator) -> nn.Module:
        # torch's layers draw initial values from the global generator before ours replace them.
        with torch.random.fork_rng(devices=[]):
            return self._build(self.settings_, generator).to(self.device)

    def _train(self, X: Rows, generator: torch.Generator) -> None:
        rows = make_rows(X, self.preprocessor_, device=self.device)
        parameters, gradients = flatten_parameters(list(self.module_.parameters()))
        optimiser = Adam(parameters, gradients, self.learning_rate)
        self.module_.train()

        def gradient(batch: Any, weights: Tensor | None) -> Tensor:
            gradients.zero_()
            loss = self._loss(batch, generator)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss.detach().view(1, 1)

        try:
            with torch.enable_grad():
                run = run_epochs(
                    [Step("loss", gradient, optimiser)],
                    self._training_rows(rows),
                    batch_size=self.batch_size,
                    generator=generator,
                    most_rows=self._most_rows(),
                    device=self.device,
                )
                history = train([run], epochs=self._n_epochs(rows.n_rows), on_epoch=self.on_epoch)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise self._divergence() from error
        self.module_.zero_grad()
        self.history_ = history.losses
        if not np.isfinite(self.history_["loss"]).all():
            raise self._divergence()

    def _divergence(self) -> ParameterError:
        return ParameterError(f"training diverged with learning_rate={self.learning_rate}; lower it")

    def _blocks(self, X: Rows) -> Iterator[Tensor]:
        # Sparse rows become dense one block at a time.
        rows = make_rows(X, self.preprocessor_, dtype=self.scoring_dtype, device=self.device, cache=False)
        size = max(1, BLOCK_VALUES // self.n_features_in_)
        for start in range(0, rows.n_rows, size):
            index = torch.arange(start, min(start + size, rows.n_rows))
            yield channels_first(rows.take(index.unsqueeze(0)))


class EncodingDetector(ModuleDetector):
    """A module detector around the encoder of the paper's section 4.1.

    Parameters
    ----------
    intrinsic_dim : the width of the code; at most the width of the last hidden layer.
    hidden : widths (channels for images) of the encoder's layers.
    activation : "tanh", "relu", "leaky_relu", "sigmoid", "linear", or "auto": the paper's rule (tanh if the
        preprocessed values lie in [-1, 1], else ReLU if all are positive, else leaky ReLU).
    **common : see :class:`NeuralDetector`.
    """

    def __init__(
        self,
        *,
        intrinsic_dim: int = 10,
        hidden: tuple[int, ...] = (32, 64, 128),
        activation: str = "auto",
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.intrinsic_dim = intrinsic_dim
        self.hidden = hidden
        self.activation = activation

    def _settings(self, low: float, high: float) -> dict[str, Any]:
        return {"activation": choose_activation(low, high) if self.activation == "auto" else self.activation}

    def _least_size(self) -> int:
        n_inputs, *sides = reversed(self.input_shape_)
        # Every convolution halves the sides of an image; tables have none.
        n_places: int = math.prod(-(-side // 2 ** min(len(self.hidden), 64)) for side in sides)
        widths = (n_inputs, *self.hidden)
        return sum(a * b for a, b in itertools.pairwise(widths)) + n_places * widths[-1] * self.intrinsic_dim

    def _architecture(self, settings: dict[str, Any]) -> Architecture:
        return Architecture(
            input_shape=self.input_shape_,
            intrinsic_dim=self.intrinsic_dim,
            hidden=tuple(self.hidden),
            activation=settings["activation"],
            normalise_code=False,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("intrinsic_dim", self.intrinsic_dim)
        if not isinstance(self.hidden, (tuple, list)) or not self.hidden:
            raise ParameterError("hidden must name at least one layer, for example (32, 64, 128)")
        for width in self.hidden:
            check_count("hidden", width)
        check_choice("activation", self.activation, ("auto", *ACTIVATIONS))


def value_range(rows: AnyRows) -> tuple[float, float]:
    """The least and the largest value of all rows."""
    low, high = np.inf, -np.inf
    for batch in rows.blocks():
        if isinstance(batch, Tensor):
            low, high = min(low, float(batch.min())), max(high, float(batch.max()))
        else:
            values = batch.members[0].data
            low, high = min(low, float(values.min(initial=0.0))), max(high, float(values.max(initial=0.0)))
    return float(low), float(high)


def to_numpy(tensor: Tensor) -> npt.NDArray[np.float64]:
    """A tensor as a float64 array."""
    array: npt.NDArray[np.float64] = tensor.detach().cpu().double().numpy()
    return array
