"""The data sets of the paper, and the ADBench tables: what they are, where they lie, how to load them.

A data set is looked for in the folder named by the environment variable ``RSRAE_DATA`` and then in the
per-user cache that ``rsrae.paper.fetch`` fills. Both hold the same prepared files. ``swiss-roll`` is
generated.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rsrae.errors import ParameterError, SourceError

Kind = Literal["images", "features", "documents", "table"]

ADBENCH_COMMIT = "3dac8221081e190f157d78e93bfa8867f90d0965"


@dataclass(frozen=True)
class Original:
    """A public file that a data set is made from.

    Attributes
    ----------
    address : where the publisher offers it.
    size : in bytes, or None where it is not known.
    checksum : ``"sha256:..."`` or ``"md5:..."``; None where none is known, and then the sha256 seen at the
        first fetch is kept and checked from there on.
    """

    address: str
    size: int | None = None
    checksum: str | None = None

    @property
    def filename(self) -> str:
        """The last part of the address."""
        return self.address.rsplit("/", maxsplit=1)[-1]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name : the name used everywhere in this package.
    title : the name used in figures and tables.
    kind : images, features (numbers to be taken as they are), documents or a table.
    n_classes : how many classes can play the normal one; 1 where the data has outliers of its own.
    file : the prepared file, relative to the data folder; empty for generated data.
    licence : the publisher's terms, in a sentence.
    originals : the public files it is made from; empty if it cannot be fetched.
    note : what to mind.
    """

    name: str
    title: str
    kind: Kind
    n_classes: int
    file: str
    licence: str
    originals: tuple[Original, ...] = ()
    note: str = ""

    @property
    def has_own_outliers(self) -> bool:
        """Whether the labels say normal or anomalous, instead of naming classes."""
        return self.n_classes == 1


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled data set. Labels are for choosing the normal class and for measuring, never for training.

    Attributes
    ----------
    name : see `DatasetInfo`.
    kind : see `DatasetInfo`.
    y : (n,) class of each item, an index into ``class_names``.
    class_names : one name a class.
    X : (n, h, w[, channels]) uint8 images or (n, m) numbers; empty for documents.
    texts : one string an item for documents; else empty.
    """

    name: str
    kind: Kind
    y: npt.NDArray[np.int64]
    class_names: tuple[str, ...]
    X: npt.NDArray[Any]
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)


def names() -> list[str]:
    """Name every data set, in the order in which they are listed.

    >>> names()[:3]
    ['fashion-mnist', 'caltech-101', 'tiny-imagenet']
    """
    return list(_REGISTRY)


def info(name: str) -> DatasetInfo:
    """Tell what is known of a data set without loading it.

    >>> info("reuters").n_classes
    5
    """
    try:
        return _REGISTRY[name]
    except KeyError:
        raise ParameterError(
            f"there is no data set {name!r}; 'rsrae data list' names all (adbench tables as adbench/<name>)"
        ) from None


def cache_dir() -> Path:
    """Return the per-user folder that fetched data goes to; ``RSRAE_CACHE`` overrides it."""
    if override := os.environ.get("RSRAE_CACHE"):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rsrae"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "rsrae" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rsrae"


def locate(name: str) -> Path | None:
    """Return the prepared file of a data set, or None if it is not on this machine."""
    file = info(name).file
    if not file:
        return None
    folders = [Path(os.environ["RSRAE_DATA"])] if os.environ.get("RSRAE_DATA") else []
    candidates = [folder / file for folder in [*folders, cache_dir()]]
    return next((path for path in candidates if path.is_file()), None)


def is_available(name: str) -> bool:
    """Whether `load` would find the data set on this machine."""
    return not info(name).file or locate(name) is not None


def load(name: str) -> Dataset:
    """Load a data set from ``RSRAE_DATA`` or the cache; nothing is downloaded.

    Raises
    ------
    ParameterError
        If there is no such data set.
    SourceError
        If it is not on this machine, or its file is damaged or laid out otherwise.

    Examples
    --------
    >>> roll = load("swiss-roll")
    >>> roll.X.shape, roll.class_names
    ((1500, 3), ('normal', 'anomaly'))
    """
    about = info(name)
    if not about.file:
        X, y = make_swiss_roll()
        return Dataset(name, about.kind, y, ("normal", "anomaly"), X)
    path = locate(name)
    if path is None:
        raise SourceError(
            f"{name}: {about.file} is neither under RSRAE_DATA nor in {cache_dir()}; "
            f"get it with 'rsrae data fetch {name}'"
        )
    return read_prepared(about, path)


def read_prepared(about: DatasetInfo, path: Path) -> Dataset:
    """Read a prepared file and check that it is laid out as it should be."""
    if about.kind == "documents":
        texts, labels = _read_documents(path)
        class_names = tuple(sorted(set(labels)))
        y = np.array([class_names.index(label) for label in labels], dtype=np.int64)
        X: npt.NDArray[Any] = np.empty((len(y), 0), dtype=np.float32)
    else:
        arrays = _read_arrays(path)
        X, y, texts = arrays["X"], arrays["y"].astype(np.int64), ()
        class_names = _class_names(about, arrays)
        _check_layout(about, X, y, path)
    if not about.has_own_outliers and len(class_names) != about.n_classes:
        raise SourceError(f"{path}: has {len(class_names)} classes, {about.n_classes} expected; fetch it again")
    if len(y) == 0 or y.min() < 0 or y.max() >= len(class_names):
        raise SourceError(f"{path}: labels must be 0 to {len(class_names) - 1}; fetch it again")
    return Dataset(about.name, about.kind, y, class_names, X, texts)


def make_swiss_roll(
    n_normal: int = 1000, n_outliers: int = 500, seed: int = 0
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Make the artificial data of appendix B: a Swiss roll in space and a Gaussian cloud at its heart.

    Returns
    -------
    X : (n_normal + n_outliers, 3)
    y : 1 for an outlier.
    """
    rng = np.random.default_rng(seed)
    t = rng.uniform(1.5 * np.pi, 4.5 * np.pi, n_normal)
    s = rng.uniform(0.0, 21.0, n_normal)
    roll = np.column_stack([t * np.cos(t), s, t * np.sin(t)])
    cloud = rng.normal(scale=2.0, size=(n_outliers, 3))
    y = np.repeat(np.array([0, 1], dtype=np.int64), [n_normal, n_outliers])
    return np.vstack([roll, cloud]).astype(np.float32), y


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {"X": stored["X"], "y": stored["y"], **_optional(stored, "class_names")}
    except KeyError as error:
        raise SourceError(f"{path}: array {error} is missing; fetch it again") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path}: cannot be read ({error}); fetch it again") from error


def _optional(stored: Any, key: str) -> dict[str, npt.NDArray[Any]]:
    return {key: stored[key]} if key in stored.files else {}


def _class_names(about: DatasetInfo, arrays: dict[str, npt.NDArray[Any]]) -> tuple[str, ...]:
    if about.has_own_outliers:
        return ("normal", "anomaly")
    return tuple(str(name) for name in arrays.get("class_names", ()))


def _check_layout(about: DatasetInfo, X: npt.NDArray[Any], y: npt.NDArray[np.int64], path: Path) -> None:
    n_axes = (3, 4) if about.kind == "images" else (2,)
    if X.ndim not in n_axes or y.shape != (len(X),):
        raise SourceError(f"{path}: X {X.shape} and y {y.shape} do not fit together; fetch it again")
    if about.kind == "images" and X.dtype != np.uint8:
        raise SourceError(f"{path}: images must be uint8, not {X.dtype}; fetch it again")


def _read_documents(path: Path) -> tuple[tuple[str, ...], list[str]]:
    texts: list[str] = []
    labels: list[str] = []
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                texts.append(str(document["text"]))
                labels.append(str(document["label"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise SourceError(f"{path}: line {len(labels) + 1} cannot be read ({error!r}); fetch it again") from error
    return tuple(texts), labels


_FASHION = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"
_RESEARCH_ONLY = "ImageNet's terms: non-commercial research and education only"

_ADBENCH_FOLDER = f"https://raw.githubusercontent.com/Minqi824/ADBench/{ADBENCH_COMMIT}/adbench/datasets/Classical/"

# number_name, bytes and sha256 of the files of that commit
_ADBENCH = """
1_ALOI 2904730 792d0b5bd1147bfc9574a1974f157b39fbd4cbed8ecd04cf983fd554498ed477
2_annthyroid 66547 e738f7c58a8740d2c4aac4c71ff49ce5e1d1aa16f44178135fc9c09df05fad1b
5_campaign 728999 74dd4d0072d6c6f1aabab63bc102f9633454f32bb936fa9bcfbd38f9f2386bcd
7_Cardiotocography 37911 5ae84910430f05923e11b6f537243263977c9136949dabd891e3570aeec51e29
8_celeba 1700937 1cadfdea14cd8d240eca715a70c09c88af8621d086a7478c63f602d97adef0b5
10_cover 2537258 945a097c3542ae81a551bf1c06dcad78a755d94f84fcaf1d60687e42d1a656df
14_glass 10755 aa7a8db1d475ba01a10488af454bc15220a3d5951b010b03b7020567d8152cdc
18_Ionosphere 42913 bca46cb0cfd1bf9ddef6cde5ad2215d54fb0189508d0d4c4eb98e788cad69001
19_landsat 223827 ba17e2158c07469597b89db49d3982c874c6b713ff6670721ddc88969da77987
23_mammography 166764 a0308ac9712d78321073b1c2dc98dc37665c0f35c1cc33019416fe8f8d7de7ea
24_mnist 455359 be7706272325fdd3592c1be555ae1a82f916a2f8545f4f8cbaa548ab102cc44c
28_pendigits 653509 c4936b89dcdad59d303020e492f763a0f54170080d787c77497609acbb9c2d79
32_shuttle 332929 26900b0f6be45d9ddb7a402c9b2f956ceda42d23a8ca4cf4406b8bc1352823d1
33_skin 618680 d02aa01ffc1b6bf2b8b1ac250c90e8a8eacd0cefc962940ed5cc4bf5deac9c95
34_smtp 496392 d2569fc9bc12115419e3f5b37d19921e10e6c26e5ad1e61064cfb0fbc402dfdd
35_SpamBase 152038 d0c46c7928e43f6496bcd06e09de0b70f6bc8143792dfa0a43f450263d254e9b
37_Stamps 20569 99fe739447284f613fa54bf2dccdb51c5120175ce6260adec6dad77576c42509
39_vertebral 4868 0816286f92b96fe6867664a41a031ac7228dcfbf1a5feefe50ca3883b2e9073d
43_WDBC 46770 78d4606a1ab516f5b60b00c196497f3bbd6bd5e4548fd04cf5f2475209b34b85
44_Wilt 134531 c70b72aa611ec87b20efb400943ef3ce4f8bf7aa58fcef825fbd28cc5cee3cc9
46_WPBC 44367 68a6d67242643855713bcdad07d89ecc472bd00000dccc17ba87916eb2693d19
47_yeast 14707 bbb15c873d78a4f6a589f46d0f75814595e2282d2ae7ce7779c750f276c3770d
"""


def _paper_data_sets() -> list[DatasetInfo]:
    return [
        DatasetInfo(
            "fashion-mnist",
            "Fashion-MNIST",
            "images",
            10,
            "fashion_mnist_test.npz",
            "MIT, Zalando SE",
            (
                Original(_FASHION + "t10k-images-idx3-ubyte.gz", 4_422_102, "md5:bef4ecab320f06d8554ea6380940ec79"),
                Original(_FASHION + "t10k-labels-idx1-ubyte.gz", 5_148, "md5:bb300cfdad3c16e7a12a480ee83cd310"),
            ),
            "The test set: 10,000 grey images, 28 x 28, in the publisher's order.",
        ),
        DatasetInfo(
            "caltech-101",
            "Caltech 101",
            "images",
            11,
            "caltech101_32.npz",
            "CC BY 4.0, Fei-Fei Li, Fergus and Perona",
            (
                Original(
                    "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
                    137_414_764,
                    "sha256:331234750fc7f77520e50d9565e8b6907b03565e30320da1401130db08c61f91",
                ),
            ),
            "The 11 categories with at least 100 images, 100 each, at 32 x 32. Faces and Faces_easy show "
            "the same people.",
        ),
        DatasetInfo(
            "tiny-imagenet",
            "Tiny ImageNet",
            "images",
            10,
            "tiny_imagenet_32.npz",
            _RESEARCH_ONLY,
            (
                Original(
                    "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                    248_100_043,
                    "md5:90528d7ca1a48142e341f4ef8d21d0de",
                ),
            ),
            "Ten of the 200 classes (drawn once: the paper does not name its ten), 500 images each, 32 x 32.",
        ),
        DatasetInfo(
            "tiny-imagenet-deep",
            "Tiny ImageNet (deep features)",
            "features",
            10,
            "tiny_imagenet_deep.npz",
            _RESEARCH_ONLY,
            note="EfficientNet-Lite0 features (1280) of the images of tiny-imagenet, in the same order. Not "
            "the paper's (a ResNet, 256), and of a network that has most likely seen these images, labelled.",
        ),
        DatasetInfo(
            "reuters",
            "Reuters-21578",
            "documents",
            5,
            "reuters_top5.jsonl.gz",
            "Free for research purposes only; copyright Reuters Ltd. and Carnegie Group",
            (
                Original(
                    "https://kdd.ics.uci.edu/databases/reuters21578/reuters21578.tar.gz",
                ),
            ),
            "The five largest topics among documents with a single topic. money-fx has 307 documents, not "
            "the paper's 360.",
        ),
        DatasetInfo(
            "newsgroups",
            "20 Newsgroups",
            "documents",
            20,
            "newsgroups20.jsonl.gz",
            "None stated; public Usenet posts collected by Ken Lang, customarily used for research",
            (
                Original(
                    "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
                    14_464_277,
                    "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                ),
            ),
            "The 'bydate' version, 600 documents a class, with headers, footers and quotes.",
        ),
        DatasetInfo("swiss-roll", "Swiss roll", "features", 1, "", "Generated", note="Appendix B of the paper."),
    ]


def _adbench_tables() -> list[DatasetInfo]:
    tables = []
    for line in _ADBENCH.strip().splitlines():
        stem, size, sha256 = line.split()
        address = f"{_ADBENCH_FOLDER}{stem}.npz"
        tables.append(
            DatasetInfo(
                f"adbench/{stem.split('_', maxsplit=1)[1]}",
                stem.split("_", maxsplit=1)[1],
                "table",
                1,
                f"adbench/{stem}.npz",
                "BSD 2-Clause (the collection); the table keeps its origin's terms (UCI, ODDS and others)",
                (Original(address, int(size), f"sha256:{sha256}"),),
            )
        )
    return tables


_REGISTRY = {about.name: about for about in [*_paper_data_sets(), *_adbench_tables()]}
