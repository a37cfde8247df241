"""The RSR layer inside a torch network of one's own, trained as in Algorithm 1 of the paper.

    python examples/own_network.py

Half of the digits below are zeros, the other half is everything else; the network is to tell which is which.
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from rsrae import RSRLayer, reconstruction_loss


class RobustAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 32), nn.Tanh())
        self.rsr = RSRLayer(latent_dim=32, intrinsic_dim=4)
        self.decoder = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        latent = self.encoder(x)
        return latent, self.decoder(self.rsr(latent))


def train(network: RobustAutoencoder, x: Tensor, epochs: int = 60) -> None:
    everything = torch.optim.Adam(network.parameters(), lr=2e-3)
    projection, orthogonality = (torch.optim.Adam(network.rsr.parameters(), lr=2e-3) for _ in range(2))
    for _ in range(epochs):
        for batch in x[torch.randperm(len(x))].split(32):
            latent, x_hat = network(batch)
            descend(everything, reconstruction_loss(batch, x_hat))
            descend(projection, network.rsr.projection_loss(latent.detach()))
            descend(orthogonality, network.rsr.orthogonality_penalty())


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def main() -> None:
    torch.manual_seed(0)
    X, digit = load_digits(return_X_y=True)
    zeros, others = X[digit == 0], X[digit != 0][::9]
    x = torch.tensor([*zeros.tolist(), *others.tolist()], dtype=torch.float32) / 16
    is_other = [0] * len(zeros) + [1] * len(others)

    network = RobustAutoencoder()
    train(network, x)
    with torch.no_grad():
        errors = (x - network(x)[1]).norm(dim=1)
    print(f"{len(zeros)} zeros, {len(others)} other digits: ROC AUC {roc_auc_score(is_other, errors):.3f}")


if __name__ == "__main__":
    main()
