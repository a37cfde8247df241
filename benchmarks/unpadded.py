"""The authors' recipe with the authors' own convolutions: ``python -m benchmarks.unpadded [CLASS ...]``.

Ours pad, so that images of any size work, and end at 4 x 4 x 128 on Fashion-MNIST; theirs do not pad the last one and
end at 3 x 3 x 128. The same trials as in ``rsrae paper run main`` (c = 0.5, first seed). Five minutes a class on one
core. Needs RSRAE_DATA.
"""

from __future__ import annotations

import sys

import torch
from torch import nn

from rsrae.networks.modules import Affine, initialise_glorot
from rsrae.paper.cells import Cell
from rsrae.paper.measure import detector_of, trial_of
from rsrae.paper.protocol import auc_and_ap

SEED, SMALLEST = 0, 3


def modules(intrinsic_dim: int = 10) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder for images of 28 x 28 x 1: tanh everywhere, normalisation as a scale and a shift."""
    encoder = nn.Sequential(
        *(nn.Conv2d(1, 32, 5, stride=2, padding=2), nn.Tanh(), Affine(32)),
        *(nn.Conv2d(32, 64, 5, stride=2, padding=2), nn.Tanh(), Affine(64)),
        *(nn.Conv2d(64, 128, 3, stride=2), nn.Tanh(), Affine(128)),
    )
    decoder = nn.Sequential(
        *(
            nn.Linear(intrinsic_dim, 128 * SMALLEST**2),
            nn.Tanh(),
            nn.Unflatten(1, (128, SMALLEST, SMALLEST)),
            Affine(128),
        ),
        *(nn.ConvTranspose2d(128, 64, 3, stride=2), nn.Tanh(), Affine(64)),
        *(nn.ConvTranspose2d(64, 32, 5, stride=2, padding=2, output_padding=1), nn.Tanh(), Affine(32)),
        *(nn.ConvTranspose2d(32, 1, 5, stride=2, padding=2, output_padding=1), nn.Tanh()),
    )
    generator = torch.Generator().manual_seed(SEED + 100)
    initialise_glorot(encoder, generator)
    initialise_glorot(decoder, generator)
    return encoder, decoder


def main(*classes: str) -> None:
    """Print the AUC of each class."""
    for number in map(int, classes or range(10)):
        cell = Cell("unpadded", "fashion-mnist", "rsrae", "authors", (number,), 0.5, SEED)
        trial = trial_of(cell)
        encoder, decoder = modules()
        detector = detector_of(cell).set_params(encoder=encoder, decoder=decoder, n_threads=1)
        auc, ap = auc_and_ap(trial.is_outlier, detector.fit(trial.X).anomaly_score(trial.X))
        print(f"class {number}: AUC {auc:.3f}, AP {ap:.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
