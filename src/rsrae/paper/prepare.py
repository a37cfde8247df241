"""From the public originals to the prepared files, always the same rows in the same order.

The sampling follows, draw by draw, the one that made the prepared files the results of this repository were
computed on. Archives are read in place and never unpacked to disk.
"""

from __future__ import annotations

import gzip
import html
import io
import json
import random
import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rsrae.errors import SourceError

FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
IMAGE_SIZE = (32, 32)


def prepare(name: str, originals: Sequence[Path], target: Path) -> None:
    """Make the prepared file of data set ``name`` from its downloaded originals.

    Raises
    ------
    SourceError
        If an original is not what it should be.
    """
    make = prepare_table if name.startswith("adbench/") else _PREPARERS[name]
    try:
        make(originals, target)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, KeyError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        listed = ", ".join(path.name for path in originals)
        raise SourceError(f"{listed}: not laid out as expected ({error!r}); delete it and fetch again") from error


def prepare_fashion(originals: Sequence[Path], target: Path) -> None:
    """Fashion-MNIST: the test images and labels as they are."""
    images, labels = (_read_idx(path) for path in originals)
    if images.shape != (len(labels), 28, 28):
        raise SourceError(f"{originals[0].name}: images {images.shape} and labels {labels.shape} do not fit")
    _save_arrays(target, X=images, y=labels, class_names=np.array(FASHION_CLASSES))


def prepare_caltech(originals: Sequence[Path], target: Path, n_per_class: int = 100) -> None:
    """Caltech 101: the categories with enough images, a sample of each, 32 x 32 RGB."""
    with zipfile.ZipFile(originals[0]) as archive:
        inner = next(name for name in archive.namelist() if name.endswith("101_ObjectCategories.tar.gz"))
        with archive.open(inner) as stream:
            files = sorted(name for name, _ in _tar_images(stream))
        categories = Counter(name.split("/")[0] for name in files)
        chosen_categories = sorted(
            name for name, count in categories.items() if count >= n_per_class and name != "BACKGROUND_Google"
        )
        rng = np.random.RandomState(0)  # the generator the prepared file was drawn with
        rows: list[str] = []
        for category in chosen_categories:
            members = [name for name in files if name.startswith(f"{category}/")]
            rows += [members[i] for i in np.sort(rng.choice(len(members), n_per_class, replace=False))]
        rows = [rows[i] for i in rng.permutation(len(rows))]
        wanted = set(rows)
        with archive.open(inner) as stream:
            pixels = {name: _to_pixels(file) for name, file in _tar_images(stream) if name in wanted}
    y = np.array([chosen_categories.index(name.split("/")[0]) for name in rows], dtype=np.uint8)
    X = np.stack([pixels[name] for name in rows])
    _save_arrays(target, X=X, y=y, class_names=np.array(chosen_categories), files=np.array(rows))


def prepare_tiny(originals: Sequence[Path], target: Path, n_classes: int = 10) -> None:
    """Tiny ImageNet: ten classes drawn once, all their training images, 32 x 32 RGB."""
    with zipfile.ZipFile(originals[0]) as archive:
        train = [name for name in archive.namelist() if "/train/" in name and name.endswith(".JPEG")]
        all_wnids = sorted({name.split("/")[-3] for name in train})
        titles = dict(
            line.split("\t", maxsplit=1) for line in archive.read("tiny-imagenet-200/words.txt").decode().splitlines()
        )
        rng = np.random.RandomState(0)  # the generator the prepared file was drawn with
        wnids = [all_wnids[i] for i in np.sort(rng.choice(len(all_wnids), n_classes, replace=False))]
        rows: list[str] = []
        for wnid in wnids:
            members = [name for name in train if name.split("/")[-3] == wnid]
            rows += sorted(members, key=lambda name: int(name.rsplit("_", 1)[1].removesuffix(".JPEG")))
        rows = [rows[i] for i in rng.permutation(len(rows))]
        X = np.stack([_to_pixels(io.BytesIO(archive.read(name))) for name in rows])
    y = np.array([wnids.index(name.split("/")[-3]) for name in rows], dtype=np.uint8)
    files = np.array([name.rsplit("/", 1)[1] for name in rows])
    class_names = np.array([titles[wnid].strip() for wnid in wnids])
    _save_arrays(target, X=X, y=y, wnids=np.array(wnids), class_names=class_names, files=files)


def prepare_reuters(originals: Sequence[Path], target: Path, n_topics: int = 5) -> None:
    """Reuters-21578: the documents with a single topic, of the largest such topics."""
    documents: list[dict[str, Any]] = []
    with tarfile.open(originals[0], "r:gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            if member.name.endswith(".sgm"):
                documents += parse_sgml(_member_bytes(archive, member).decode("latin-1"))
    sizes = Counter(document["label"] for document in documents)
    largest = {label for label, _ in sizes.most_common(n_topics)}
    kept = sorted((d for d in documents if d["label"] in largest), key=lambda d: int(d["id"]))
    random.Random(0).shuffle(kept)
    _save_documents(target, kept)


def prepare_newsgroups(originals: Sequence[Path], target: Path, n_per_class: int = 600) -> None:
    """20 Newsgroups: a sample of each class, training and test part together."""
    texts: dict[str, dict[tuple[str, str], str]] = {}
    with tarfile.open(originals[0], "r:gz") as archive:
        for member in archive:
            if member.isfile():
                part, label, number = member.name.split("/")[-3:]
                split = part.removeprefix("20news-bydate-")
                text = _member_bytes(archive, member).decode("latin-1")
                texts.setdefault(label, {})[split, number] = text
    rng = random.Random(0)
    documents = []
    for label in sorted(texts):
        members = sorted(texts[label])
        for i in sorted(rng.sample(range(len(members)), n_per_class)):
            split, number = members[i]
            documents.append({"text": texts[label][members[i]], "label": label, "id": int(number), "split": split})
    rng.shuffle(documents)
    _save_documents(target, documents)


def prepare_table(originals: Sequence[Path], target: Path) -> None:
    """ADBench: the file as it is."""
    target.write_bytes(originals[0].read_bytes())


def parse_sgml(text: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of one Reuters file that have exactly one topic.

    >>> sgml = '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="7"><TOPICS><D>earn</D></TOPICS>'
    >>> sgml += '<TEXT><TITLE>A &amp; B UP</TITLE><BODY>They rose.\\n Reuter\\n&#3;</BODY></TEXT></REUTERS>'
    >>> [(d["label"], d["text"]) for d in parse_sgml(sgml)]
    [('earn', 'A & B UP\\nThey rose.')]
    """
    for match in re.finditer(r"<REUTERS(?P<attributes>[^>]*)>(?P<content>.*?)</REUTERS>", text, re.DOTALL):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', match["attributes"]))
        content = match["content"]
        topics = re.findall(r"<D>(.*?)</D>", _element(content, "TOPICS") or "")
        if len(topics) != 1:
            continue
        kind = re.search(r'<TEXT\s+TYPE="(\w+)"', content)
        body = _element(content, "BODY")
        title = _clean(_element(content, "TITLE") or "")
        # An unprocessed text has neither title nor body: all of it is the article.
        article = _without_closing_line(_clean(body or ("" if title else _element(content, "TEXT") or "")))
        yield {
            "text": "\n".join(part for part in (title, article) if part),
            "label": topics[0],
            "id": int(attributes["NEWID"]),
            "split": attributes.get("LEWISSPLIT", ""),
            "topics_attr": attributes.get("TOPICS", ""),
            "type": kind[1] if kind else "NORM",
            "has_body": bool(article),
        }


def _element(content: str, tag: str) -> str | None:
    match = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", content, re.DOTALL)
    return match[1] if match else None


def _clean(text: str) -> str:
    # The collection marks the end of a text with control characters, written as &#3; or as such.
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", html.unescape(re.sub(r"&#\d{1,2};", "", text))).strip()


def _without_closing_line(article: str) -> str:
    return re.sub(r"\s*\breuter\s*$", "", article, flags=re.IGNORECASE)


def _tar_images(stream: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".jpg") and (file := archive.extractfile(member)):
                yield "/".join(member.name.split("/")[-2:]), file


def _member_bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise SourceError(f"{member.name} is not a file; delete it and fetch again")
    return file.read()


def _to_pixels(file: IO[bytes]) -> npt.NDArray[np.uint8]:
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB").resize(IMAGE_SIZE, Image.Resampling.BILINEAR), dtype=np.uint8)


def _read_idx(path: Path) -> npt.NDArray[np.uint8]:
    # IDX: two zero bytes, type (8 = unsigned byte), number of axes, a big-endian length an axis, the values.
    with gzip.open(path, "rb") as file:
        content = file.read()
    if content[:3] != b"\x00\x00\x08":
        raise SourceError(f"{path.name}: not an IDX file of bytes; delete it and fetch again")
    n_axes = content[3]
    shape = tuple(int(n) for n in np.frombuffer(content, dtype=">i4", count=n_axes, offset=4))
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes)
    return values.reshape(shape)


def _save_arrays(target: Path, **arrays: npt.NDArray[Any]) -> None:
    with target.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _save_documents(target: Path, documents: Iterable[dict[str, Any]]) -> None:
    # No time stamp and no name in the header: the same documents make the same file.
    with target.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")


_PREPARERS: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "fashion-mnist": prepare_fashion,
    "caltech-101": prepare_caltech,
    "tiny-imagenet": prepare_tiny,
    "reuters": prepare_reuters,
    "newsgroups": prepare_newsgroups,
}
