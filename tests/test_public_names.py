"""What users may import; a change here is a change of the public interface and belongs in the changelog."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rsrae

PUBLIC = [
    "AutoEncoder",
    "RSRAE",
    "RSRAEPlus",
    "RSRLayer",
    "RsraeError",
    "ViewsRSRAE",
    "__version__",
    "detect",
    "load",
    "orthogonality_penalty",
    "projection_loss",
    "reconstruction_loss",
]


def test_the_public_names_are_these() -> None:
    assert sorted(rsrae.__all__) == PUBLIC
    assert dir(rsrae) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(rsrae, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'rsrae' has no attribute 'Rsrae'"):
        rsrae.Rsrae  # noqa: B018


def test_importing_the_package_does_not_import_torch() -> None:
    program = "import sys, rsrae; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
