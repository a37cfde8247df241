"""What all detectors made of an autoencoder share: parameters, networks, the loop, scores, the model file.

A detector of this family says which steps train it (``_steps``) and adds its own parameters.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from rsrae.detectors.base import Rows, check_choice
from rsrae.detectors.choices import Choices
from rsrae.detectors.combination import Combination
from rsrae.detectors.formats import upgrade
from rsrae.detectors.neural import NeuralDetector, to_numpy, value_range
from rsrae.detectors.panel import Panel, Voter
from rsrae.detectors.panel_fitting import PanelFitting
from rsrae.detectors.recipes import RECIPES
from rsrae.detectors.settings import check_settings
from rsrae.errors import InputError, ParameterError
from rsrae.modelfile import Arrays
from rsrae.networks.architecture import ACTIVATIONS, Architecture, choose_activation
from rsrae.networks.batches import Batch
from rsrae.networks.building import build_networks
from rsrae.networks.neighbours import Neighbours
from rsrae.networks.network import Network, Scorer
from rsrae.networks.rows import AnyRows, DenseRows, SparseRows, make_rows
from rsrae.networks.threads import scoring_threads, training_side_by_side, training_threads
from rsrae.networks.walk import score_blocks
from rsrae.preprocessing import Preprocessor
from rsrae.scoring import LengthTrend, LogLengths, log_lengths
from rsrae.thresholds import FloatArray
from rsrae.training import History, Selector, Step, Trimming, limited_threads, run_epochs, train

Member = Network | Voter
MOST_PIXELS = 2**19  # values of a picture: dense layers for so many, gradients and moments take five gigabytes
FEWEST_UPDATES = 25  # before a network's errors say more of the rows than of its random start


class AutoencoderDetector(NeuralDetector):
    """Base of the detectors that train an autoencoder.

    Parameters
    ----------
    intrinsic_dim : d, the width of the code; at most the width of the last hidden layer. A tuple gives the members of
        an ensemble different ones, in turn; in it, 0 stands for a member that learns a single point for all items.
    hidden : widths (channels of convolutions) of the encoder's layers; the decoder mirrors them.
    layers : of images: "convolutional", as in the paper, or "dense": all pixels are one row of values, and what is said
        below of rows of unit norm goes for images too. Tables and sparse rows have dense ones.
    activation : "tanh", "relu", "leaky_relu", "sigmoid", "linear", or "auto": the paper's rule (tanh if the
        preprocessed values lie in [-1, 1], else ReLU if all are positive, else leaky ReLU), or "auto-authors": the
        rule of the authors' code (ReLU if all are positive, else tanh if they lie in [-1, 1], else leaky ReLU).
    output_activation : of the last layer: a name as above, or "same" for that of the hidden layers.
    normalisation : "batch", "affine" (what the authors' code does), None, or "auto": batch normalisation for tables
        whose rows are not scaled to unit norm, none elsewhere.
    normalise_code : scale the code to unit norm before the decoder.
    initialisation : of A: "orthonormal" or "normal".
    scored_by : "cosine", "euclidean" or "manhattan" (the sum of the residual's absolute values; it makes sparse rows
        dense, some at a time); "auto": cosine where rows have unit norm, else euclidean; "auto-manhattan": the same,
        but manhattan where columns are scaled one by one.
    shuffle : draw a new order of the rows every "epoch", or "once".
    trim : share of the rows, those that fit worst, left out of each epoch after the warm-up; "auto" estimates it from
        the errors; 0 trains on all rows.
    warm_up : share of the epochs before trimming begins, and at least 25 updates; 0 trims from the start.
    n_members : number of independently initialised members whose standardised scores are averaged; "auto": 4, and 8 for
        tables scaled column by column, where starts matter most and members are cheap. Neighbours weigh as much as all
        of them (three times as much with ``near_middles``), and a forest as much as all other members.
    n_neighbors : k of one more member, which has no network: it scores an item by its distance to its k nearest among
        the rows that the networks find normal (all but ``trim``; at most 1,000, which the model file then holds), the
        strictest kind of them deciding where kinds are told apart (``equal_kinds``; others are asked with
        ``near_middles`` and ``crowd``); 0 leaves it out.
    near_middles : with neighbours, and tables scaled column by column, only: which rows are normal enough to be
        neighbours is asked of the networks of each dimension above 0 and of the middles of large groups of rows, and
        the strictest of them decides, see :mod:`rsrae.detectors.middles`.
    neighbor_distance : "to-mean": to the mean of these k; "to-each": the mean of the distances to each of them; "auto":
        to each for tables scaled column by column, to their mean elsewhere.
    ranks : tables scaled column by column only, and not with an encoder of your own: the networks see each column
        twice, scaled and as the normal scores of its values, see :class:`rsrae.normalscores.NormalScores`.
    n_trees : tables scaled column by column, and several members, only: trees of one more member, a forest that learns
        from the columns what the others say, see :mod:`rsrae.detectors.imitation`; 0 leaves it out.
    n_alike : rows of unit norm, dense layers and several members only: even out the score of an item with those of so
        many training rows most like it, of images at most one in fifty (they are sought among at most 1,000, which the
        model file then holds), see :mod:`rsrae.networks.company`; 0 leaves it out.
    equal_kinds : rows of unit norm and dense layers only: a point (a member of dimension 0), the subspaces and the
        neighbours have the same say (with ``crowd`` the crowd too, and neighbours more), however many members each kind
        has; else a point is one network among others.
    column_weights : where there is a forest (``n_trees``) only: networks and neighbours are asked a second time, with
        columns that count by how far they tell what all said the first time, see :mod:`rsrae.detectors.telling`;
        neighbours are then sought among the rows that all found normal, and a quarter fewer are left out.
    rules : tables scaled column by column, and several members, only: values far from what they foretell of each other
        raise the score of their row, see :mod:`rsrae.detectors.rules`: by this share of the way there, and the less,
        the less is foretold. 1 is for rows that may have been put together wrongly; 0 leaves it out.
    gross_values : tables scaled column by column, and several members, only: a value far outside the usual range of its
        column adds to the score of its row, see :mod:`rsrae.detectors.gross`.
    level_lengths : sparse rows only: take off a score half of what the length of the document explains of it, see
        :class:`rsrae.scoring.LengthTrend`.
    encoder, decoder : modules of your own in place of the paper's; both or none. A decoder takes codes of one width:
        give ``intrinsic_dim`` as one number with them.
    warm_start : a second ``fit`` goes on from where the first one ended.
    **common : see :class:`rsrae.detectors.neural.NeuralDetector`.
    """

    networks_: list[Network]

    def __init__(
        self,
        *,
        intrinsic_dim: int | tuple[int, ...] = 10,
        hidden: tuple[int, ...] = (32, 64, 128),
        layers: str = "convolutional",
        activation: str = "auto",
        output_activation: str = "linear",
        normalisation: str | None = None,
        normalise_code: bool = True,
        initialisation: str = "orthonormal",
        scored_by: str = "auto",
        shuffle: str = "epoch",
        trim: float | str = 0.0,
        warm_up: float = 0.2,
        n_members: int | str = 1,
        n_neighbors: int = 0,
        neighbor_distance: str = "to-mean",
        near_middles: bool = False,
        crowd: bool = False,
        edges: bool = False,
        ranks: bool = False,
        n_trees: int = 0,
        n_alike: int = 0,
        equal_kinds: bool = False,
        column_weights: bool = False,
        rules: float = 0.0,
        gross_values: bool = False,
        level_lengths: bool = False,
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
        warm_start: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.intrinsic_dim = intrinsic_dim
        self.hidden = hidden
        self.layers = layers
        self.activation = activation
        self.output_activation = output_activation
        self.normalisation = normalisation
        self.normalise_code = normalise_code
        self.initialisation = initialisation
        self.scored_by = scored_by
        self.shuffle = shuffle
        self.trim = trim
        self.warm_up = warm_up
        self.n_members = n_members
        self.n_neighbors = n_neighbors
        self.neighbor_distance = neighbor_distance
        self.near_middles = near_middles
        self.crowd = crowd
        self.edges = edges
        self.ranks = ranks
        self.n_trees = n_trees
        self.n_alike = n_alike
        self.equal_kinds = equal_kinds
        self.column_weights = column_weights
        self.rules = rules
        self.gross_values = gross_values
        self.level_lengths = level_lengths
        self.encoder = encoder
        self.decoder = decoder
        self.warm_start = warm_start

    @classmethod
    def from_recipe(cls, name: str, **parameters: Any) -> Self:
        """A detector with the settings of the "paper", of the "authors" code, or our "default"; others on top."""
        if name == "default":
            return cls(**parameters)
        if name not in RECIPES:
            raise ParameterError(f"no recipe {name!r}; there are: {', '.join(['default', *RECIPES])}")
        known = cls._get_param_names()
        return cls(**({key: value for key, value in RECIPES[name].items() if key in known} | parameters))

    # -- public beyond the contract --------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None) -> AutoencoderDetector:
        """Train ``epochs`` more epochs on these rows; the first call is a ``fit``."""
        if not hasattr(self, "offset_"):
            return self.fit(X)
        rows = self._check_rows(X, reset=False)
        self._draw_line(rows, self._train(rows))
        return self

    def encode(self, X: Any) -> npt.NDArray[np.float64]:
        """The codes A'z of the member with the widest code, ``(n, d)``: where each item lies in the subspace."""
        check_is_fitted(self, "offset_")
        dims = self._choices.dims
        widest = dims.index(max(dims))
        networks = self._scoring_networks()
        # A dense network holds all members; of convolutional ones there is one each.
        network, member = (networks[0], widest) if len(networks) == 1 else (networks[widest], 0)
        rows = self._rows_to_score(self._check_rows(X, reset=False))
        codes = [network.encode(batch)[member] @ network.A[member] for batch in rows.blocks()]
        return to_numpy(torch.cat(codes))

    def reconstruct(self, X: Any) -> npt.NDArray[np.float64]:
        """``x_hat`` of every item, averaged over members, in the space the network sees (see ``preprocess``)."""
        check_is_fitted(self, "offset_")
        rows = self._rows_to_score(self._check_rows(X, reset=False))
        blocks = []
        for batch in rows.blocks():
            members = torch.cat([member.reconstruct(batch) for member in self._reconstructing()])
            blocks.append(members.mean(dim=0))
        return to_numpy(torch.cat(blocks))

    def residuals(self, X: Any) -> npt.NDArray[np.float64]:
        """``x - x_hat`` per item and feature (or pixel), in the space the network sees."""
        return self.preprocess(X) - self.reconstruct(X)

    def member_scores(self, X: Any) -> FloatArray:
        """The distance of each item to each member's reconstruction, before lengths are levelled and members are
        combined, ``(members, n)``; neighbours come behind the networks, then what imitates them all, then rules.
        """
        check_is_fitted(self, "offset_")
        return to_numpy(self._member_scores(self._check_rows(X, reset=False)))

    # -- the contract ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _steps(self, network: Network) -> list[Step[Batch]]:
        """The training scheme."""

    def _fit(self, X: Rows) -> FloatArray | None:
        self._check_parameters()
        if self.warm_start and hasattr(self, "networks_"):
            if self._fitted_shape != self.input_shape_:
                raise InputError(
                    f"warm_start goes on with items of shape {self._fitted_shape}, got {self.input_shape_}"
                )
        else:
            seed = self._seed()
            self.preprocessor_ = self._fit_preprocessor(X)
            self._generators = [
                torch.Generator().manual_seed(seed + member) for member in range(self._choices.n_members)
            ]
            self.history_: dict[str, list[float]] = {}
            self.networks_ = self._make_networks(X)
            self._schemes: list[list[Step[Batch]]] | None = None
        return self._train(X)

    def _score(self, X: Rows) -> FloatArray:
        # A model of documents may be asked about rows that are not sparse.
        panel = self.panel_
        lengths = None if panel.combination.trend is None else log_lengths(sp.csr_array(X))
        members = [*self._networks_for(X), *panel.members, *panel.correctors]
        scores = self._scores_by(members, X, weights=panel.weights)
        n_combined = len(panel.combination.weights)
        with limited_threads(1):  # there is next to nothing left to compute, and waking threads on a busy machine costs
            combined = panel.combination(scores[:n_combined], lengths)
            return to_numpy(panel.correct(combined, scores[n_combined:].double()))

    def _train(self, X: Rows) -> FloatArray | None:
        for name, losses in self._run(make_rows(X, self.preprocessor_, device=self.device)).losses.items():
            self.history_.setdefault(name, []).extend(losses)
        self.scoring_networks_: list[Network] | None = None
        return self._combine(X)

    def _run(self, rows: Any) -> History:
        if self._schemes is None:
            with limited_threads(1):
                self._schemes = [self._steps(network) for network in self.networks_]
        runs = [
            run_epochs(
                steps,
                rows,
                batch_size=self.batch_size,
                generator=generator,
                n_members=network.n_members,
                shuffle=self.shuffle,  # type: ignore[arg-type]
                most_rows=self._most_rows(),
                select=self._selection(network, rows),
                device=self.device,
            )
            for network, steps, generator in zip(self.networks_, self._schemes, self._generators, strict=False)
        ]
        care = {"is_careful": self.n_members == "auto", "is_sparse": isinstance(rows, SparseRows)}
        n_threads = self.n_threads or training_threads(self.networks_[0], self.batch_size, **care)
        with training_side_by_side(self.networks_, n_threads, self.batch_size) as advance:
            return train(runs, epochs=self._n_epochs(rows.n_rows), on_epoch=self.on_epoch, advance=advance)

    def _combine(self, X: Rows) -> FloatArray | None:
        """Choose the rows that neighbours are sought among, and learn how members make one score.

        Returns the scores of the rows, if there was anything to learn from them.
        """
        if X.shape[0] < 2:  # of a partial_fit: a row alone says nothing about what is usual
            return None
        lengths = self._lengths(X)
        if self._choices.n_members == 1 and self.n_neighbors == 0 and lengths is None:
            # The scores of a single network stay as they are.
            self.panel_ = Panel(Combination.fit(torch.zeros(1, 1, dtype=torch.float64), None))
            return None
        fitting = PanelFitting(
            self._choices.seats,
            X,
            self.preprocessor_,
            lambda weights: self._scores_by(self._networks_for(X), X, n_threads=1, weights=weights),
            lambda members: self._scores_by(members, X, n_threads=1),
            generator=self._generators[0],
            device=self.device,
        )
        self.panel_, combined = fitting.fit(lengths)
        return to_numpy(combined)

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        network = self.networks_[0]
        arrays = {
            f"member{number}.{name}": tensor.cpu().numpy()
            for number, network in enumerate(self.networks_)
            for name, tensor in network.state().items()
        }
        arrays |= self.panel_.arrays()
        state = {
            "activation": network.architecture.activation,
            "output_activation": network.architecture.output_activation,
        }
        common_state, common_arrays = self._common_state()
        has_edges = self.preprocessor_.edges is not None
        return state | common_state | {"edges": has_edges}, arrays | common_arrays

    @classmethod
    def _upgrade(cls, header: dict[str, Any], arrays: Arrays) -> None:
        super()._upgrade(header, arrays)
        upgrade(header, arrays)

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._restore_common(state, arrays)
        if state.get("edges", False):  # there were none before format 12
            if not self._choices.may_have_edges:
                raise ValueError("what is no image, or no direction, has no edges")
            self.preprocessor_ = self.preprocessor_.with_edges(self.input_shape_)
        check_choice("activation", state["activation"], tuple(ACTIVATIONS))
        check_choice("output_activation", state["output_activation"], tuple(ACTIVATIONS))
        self._choices.check_size(arrays)
        self._generators = [torch.Generator().manual_seed(member) for member in range(self._choices.n_members)]
        self.networks_ = self._build(self._choices.architecture(state["activation"], state["output_activation"]))
        for number, network in enumerate(self.networks_):
            prefix = f"member{number}."
            network.load_state(
                {name[len(prefix) :]: torch.from_numpy(a) for name, a in arrays.items() if name.startswith(prefix)}
            )
        self._schemes = None
        self.scoring_networks_ = None
        self.panel_ = Panel.restore(
            arrays,
            self._choices.seats,
            n_columns=self.n_features_in_,
            is_tame=self.preprocessor_.tame,
            width=math.prod(self._choices.seen_shape),
            device=self.device,
        )

    # -- inside ----------------------------------------------------------------------------------------------------

    def _fit_preprocessor(self, X: Rows) -> Preprocessor:
        fitted = super()._fit_preprocessor(X)
        if self.edges and self._choices_by(fitted).may_have_edges:
            return fitted.with_edges(self.input_shape_)
        if not self.ranks or self.encoder is not None or not fitted.is_by_column:
            return fitted
        return fitted.with_ranks(X)  # type: ignore[arg-type]  # sparse rows are not scaled by column

    @property
    def _fitted_shape(self) -> tuple[int, ...]:
        """Of the items that the networks were made for."""
        fitted = self.preprocessor_
        if fitted.edges is not None:
            return fitted.edges.shape
        return self.networks_[0].architecture.input_shape if fitted.ranks is None else fitted.scale.shape

    @property
    def _choices(self) -> Choices:
        return self._choices_by(self.preprocessor_)

    def _choices_by(self, preprocessor: Preprocessor) -> Choices:
        return Choices(self, preprocessor, self.input_shape_)

    def _lengths(self, X: Rows) -> LogLengths | None:
        return log_lengths(X) if self.level_lengths and isinstance(X, sp.csr_array) else None

    def _make_networks(self, X: Rows) -> list[Network]:
        self._check_pictures()
        activation = self.activation
        low, high = value_range(make_rows(X, self.preprocessor_, cache=False))
        if not math.isfinite(high - low):
            raise InputError("the values, scaled, do not fit single precision; rescale or clip them first")
        if activation.startswith("auto"):
            activation = choose_activation(low, high, positive_first=activation == "auto-authors")
        output = activation if self.output_activation == "same" else self.output_activation
        return self._build(self._choices.architecture(activation, output))

    def _check_pictures(self) -> None:
        shape, n_values = self.input_shape_, math.prod(self.input_shape_)
        if len(shape) == 3 and self._choices.is_dense and n_values > MOST_PIXELS:
            raise InputError(
                f"pictures of {shape[0]} x {shape[1]} x {shape[2]} have {n_values:,} values, dense layers take at most "
                f"{MOST_PIXELS:,}; make them smaller, or use layers='convolutional'"
            )

    def _build(self, architecture: Architecture) -> list[Network]:
        modules = None if self.encoder is None or self.decoder is None else (self.encoder, self.decoder)
        with limited_threads(1):  # waking others, on a busy machine, costs more than filling some tensors
            return build_networks(
                architecture, self._generators, self._choices.dims, modules=modules, device=self.device
            )

    def _selection(self, network: Network, rows: AnyRows) -> Selector | None:
        if self.trim == 0:
            return None
        warm_up = math.ceil(self.warm_up * self._n_epochs(rows.n_rows))
        if warm_up > 0:
            n_rows = min(rows.n_rows, self._most_rows() or rows.n_rows)
            warm_up = max(warm_up, math.ceil(FEWEST_UPDATES / math.ceil(n_rows / self.batch_size)))

        lengths = self._lengths(rows.X) if isinstance(rows, SparseRows) else None

        def errors(among: Tensor) -> Tensor:
            found = self._errors([network], rows if len(among) == rows.n_rows else rows.only(among), n_threads=1)
            if lengths is None:
                return found
            their_lengths = lengths[among.numpy()]
            return LengthTrend.fit(found, their_lengths).remove(found, their_lengths)

        return Trimming(errors, self._choices.trimmed_share, warm_up=warm_up, n_members=network.n_members)

    def _errors(
        self,
        members: Sequence[Member],
        rows: AnyRows,
        n_threads: int | None = None,
        weights: Tensor | None = None,
    ) -> Tensor:
        """The score of every row by every member, ``(members, rows)``; ``weights`` of the values are for networks.

        While fitting on one thread: several keep some memory each, and networks of images have a thread each.
        """
        with limited_threads(1):
            scorers = [
                member.for_scoring(weights) if isinstance(member, Network) else member.for_scoring()
                for member in members
            ]
        return score_blocks(
            rows,
            lambda batch: torch.cat([self._errors_by(scorer, batch) for scorer in scorers]),
            n_threads=scoring_threads(self.networks_, rows.n_rows, n_threads or self.n_threads),
        )

    def _errors_by(self, member: Scorer | Voter, batch: Batch) -> Tensor:
        return member.errors(batch, self._choices.scored_by)

    def _member_scores(self, X: Rows, n_threads: int | None = None) -> Tensor:
        members = [*self._networks_for(X), *self.panel_.members]
        scores = self._scores_by(members, X, n_threads, weights=self.panel_.weights)
        with limited_threads(1):
            return scores.double()

    def _networks_for(self, X: Rows) -> list[Network]:
        return self._scoring_networks() if sp.issparse(X) else self.networks_

    def _scores_by(
        self, members: Sequence[Member], X: Rows, n_threads: int | None = None, *, weights: Tensor | None = None
    ) -> Tensor:
        # Dense rows come in even blocks, sparse ones in double precision: a row scores the same in any company.
        rows: AnyRows = self._rows_to_score(X) if sp.issparse(X) else self._dense_rows(X)
        return self._errors(members, rows, n_threads, weights)

    def _dense_rows(self, X: npt.NDArray[Any]) -> DenseRows:
        return DenseRows(
            X, self.preprocessor_, device=self.device, cache=False, even=True, as_vectors=self._choices.is_dense
        )

    def _reconstructing(self) -> list[Network | Neighbours]:
        neighbours = self.panel_.neighbours
        return [*self._scoring_networks(), *([] if neighbours is None else [neighbours])]

    def _scoring_networks(self) -> list[Network]:
        if self.scoring_networks_ is None:
            with limited_threads(1):
                self.scoring_networks_ = [network.to(dtype=torch.float64) for network in self.networks_]
        return self.scoring_networks_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_settings(self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        # Optimisers and generators stay behind: a copy or a worker process scores, it does not go on training.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_schemes", "scoring_networks_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "networks_"):
            self._schemes, self.scoring_networks_ = None, None
