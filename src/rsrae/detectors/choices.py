"""What the parameters of an autoencoder come to on the data at hand: who takes part, and how items are scored.

The scaling is the preprocessor's to decide, activation and epochs are the detector's when it trains.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rsrae.detectors.panel import Seats
from rsrae.modelfile import Arrays
from rsrae.networks.architecture import Architecture
from rsrae.preprocessing import Preprocessor
from rsrae.thresholds import estimate_contamination

USUAL_MEMBERS, TABLE_MEMBERS = 4, 8  # by n_members="auto"


@dataclass(frozen=True)
class Choices:
    """Decided when asked, so that a parameter may change after fitting, as scikit-learn allows.

    Attributes
    ----------
    settings : has the parameters of :class:`rsrae.detectors.autoencoders.AutoencoderDetector` by name.
    preprocessor : fitted; it has found out whether rows are directions, or columns are scaled one by one.
    input_shape : of an item, as the user gave it.
    """

    settings: Any
    preprocessor: Preprocessor
    input_shape: tuple[int, ...]

    @property
    def seen_shape(self) -> tuple[int, ...]:
        """Of an item as the networks see it."""
        return self.preprocessor.shape(self.input_shape)

    @property
    def is_dense(self) -> bool:
        """Whether items are rows of values to the networks."""
        return len(self.input_shape) == 1 or (self.settings.layers == "dense" and self.settings.encoder is None)

    @property
    def has_directions(self) -> bool:
        """Whether dense networks see rows of which only the direction counts."""
        return self.is_dense and self.preprocessor.unit_norm

    @property
    def may_have_edges(self) -> bool:
        """Whether items are images that dense networks see as directions."""
        return self.has_directions and len(self.input_shape) == 3 and self.settings.encoder is None

    @property
    def n_members(self) -> int:
        """Of the ensemble, without those that have no network."""
        if self.settings.n_members == "auto":
            return TABLE_MEMBERS if self.preprocessor.is_by_column else USUAL_MEMBERS
        return int(self.settings.n_members)

    @property
    def dims(self) -> list[int]:
        """The dimension of each member."""
        given = self._given_dims
        return [given[member % len(given)] for member in range(self.n_members)]

    @property
    def scored_by(self) -> str:
        """The name of the distance."""
        if not self.settings.scored_by.startswith("auto"):
            return str(self.settings.scored_by)
        if self.preprocessor.unit_norm:
            return "cosine"
        is_manhattan = self.preprocessor.is_by_column and self.settings.scored_by == "auto-manhattan"
        return "manhattan" if is_manhattan else "euclidean"

    @property
    def trimmed_share(self) -> float | Callable[[Tensor], float]:
        """Of the rows, or what estimates it from their errors."""
        return _estimated_share if self.settings.trim == "auto" else float(self.settings.trim)

    @property
    def seats(self) -> Seats:
        """Who has a say beside the networks, and as what each of these counts."""
        given = self.settings
        is_ensemble = self.n_members > 1 or given.n_neighbors > 0  # the scores of a single network stay as they are
        is_table = is_ensemble and self.preprocessor.is_by_column
        return Seats(
            tuple("point" if d == 0 and given.equal_kinds and self.has_directions else "subspace" for d in self.dims),
            tuple(self.dims),
            n_neighbors=given.n_neighbors,
            to_each=self._is_to_each,
            n_trees=given.n_trees if is_table else 0,
            n_alike=given.n_alike if is_ensemble and self.has_directions else 0,
            column_weights=given.column_weights and is_table and given.n_trees > 0,
            rules=given.rules if is_table else 0.0,
            gross_values=given.gross_values and is_table,
            trim=self.trimmed_share,
            near_middles=given.near_middles and is_table,
            crowd=given.crowd and self.has_directions and given.n_neighbors > 0,
        )

    def architecture(self, activation: str, output_activation: str) -> Architecture:
        """Of all members; those of fewer dimensions leave some out of use."""
        given = self.settings
        return Architecture(
            input_shape=self.seen_shape,
            intrinsic_dim=max(1, *self._given_dims[: self.n_members]),
            hidden=tuple(given.hidden),
            activation=activation,  # type: ignore[arg-type]
            output_activation=output_activation,  # type: ignore[arg-type]
            normalisation=self._normalisation,  # type: ignore[arg-type]
            normalise_code=given.normalise_code,
            initialisation=given.initialisation,
            layers=given.layers,
        )

    def check_size(self, arrays: Arrays) -> None:
        """A ValueError if the networks would be larger than the tensors that came with them.

        A file may ask for a network of any size; such a one is not built.
        """
        held = sum(array.size for array in arrays.values())
        hidden, has_own = self.settings.hidden, self.settings.encoder is not None
        asked = self.n_members
        if not has_own and len(hidden) <= len(arrays):
            n_inputs, *sides = (math.prod(self.seen_shape),) if self.is_dense else reversed(self.seen_shape)
            widths = (n_inputs, *hidden)
            # Every convolution halves the sides of an image; dense layers see none.
            latent_dim = math.prod(-(-side // 2 ** len(hidden)) for side in sides) * widths[-1]
            asked *= sum(a * b for a, b in itertools.pairwise(widths)) + latent_dim * max(self._given_dims)
        if asked > held or (not has_own and len(hidden) > len(arrays)):
            raise ValueError("the network would be larger than the file")

    @property
    def _given_dims(self) -> tuple[int, ...]:
        given = self.settings.intrinsic_dim
        return given if isinstance(given, tuple) else (given,)

    @property
    def _is_to_each(self) -> bool:
        if self.settings.neighbor_distance == "auto":
            return self.preprocessor.is_by_column
        return bool(self.settings.neighbor_distance == "to-each")

    @property
    def _normalisation(self) -> str | None:
        if self.settings.normalisation != "auto":
            return self.settings.normalisation  # type: ignore[no-any-return]
        # A table has few columns, and its networks few rows to learn them from: without it they learn too little in the
        # time, and most of all those of dimension 4 and 10 (docs/decisions/0008-normalisation.md).
        return "batch" if len(self.input_shape) == 1 and not self.preprocessor.unit_norm else None


def _estimated_share(errors: Tensor) -> float:
    return estimate_contamination(errors.double().detach().cpu().numpy())
