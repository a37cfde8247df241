import gzip
import html
import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rsrae.errors import SourceError
from rsrae.paper import datasets
from rsrae.paper.prepare import parse_sgml, prepare

from .shared import add_member, needs_shared_data, shared_data

CALTECH_SIZES = [435, 435, 200, 798, 800, 128, 123, 107, 100, 114, 239]


def jpeg(color: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (8, 8)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, color).save(stream, "JPEG")
    return stream.getvalue()


def write_idx(path: Path, values: np.ndarray) -> None:
    header = bytes([0, 0, 8, values.ndim]) + b"".join(struct.pack(">i", n) for n in values.shape)
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


def write_caltech(path: Path, sizes: dict[str, int], image: bytes) -> None:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        for category, n in sizes.items():
            for i in range(1, n + 1):
                add_member(archive, f"101_ObjectCategories/{category}/image_{i:04d}.jpg", image)
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("caltech-101/101_ObjectCategories.tar.gz", inner.getvalue())


def test_fashion_images_come_out_as_they_went_in(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 28, 28), dtype=np.uint8)
    labels = np.arange(20, dtype=np.uint8) % 10
    write_idx(tmp_path / "images.gz", images)
    write_idx(tmp_path / "labels.gz", labels)
    prepare("fashion-mnist", [tmp_path / "images.gz", tmp_path / "labels.gz"], tmp_path / "out.npz")
    dataset = datasets.read_prepared(datasets.info("fashion-mnist"), tmp_path / "out.npz")
    np.testing.assert_array_equal(dataset.X, images)
    np.testing.assert_array_equal(dataset.y, labels)


def test_an_archive_that_is_none_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "caltech-101.zip").write_bytes(b"<html>moved</html>")
    with pytest.raises(SourceError, match=r"caltech-101\.zip: not laid out as expected"):
        prepare("caltech-101", [tmp_path / "caltech-101.zip"], tmp_path / "out.npz")


def test_caltech_takes_the_large_categories_and_not_the_background(tmp_path: Path) -> None:
    sizes = {"BACKGROUND_Google": 120, "airplanes": 101, "ant": 42, "watch": 100}
    write_caltech(tmp_path / "caltech-101.zip", sizes, jpeg())
    prepare("caltech-101", [tmp_path / "caltech-101.zip"], tmp_path / "out.npz")
    stored = np.load(tmp_path / "out.npz")
    assert stored["class_names"].tolist() == ["airplanes", "watch"]
    assert stored["X"].shape == (200, 32, 32, 3)
    assert np.bincount(stored["y"]).tolist() == [100, 100]
    np.testing.assert_allclose(stored["X"][0, 0, 0], [200, 30, 30], atol=6)


def test_a_reuters_document_keeps_title_and_body_and_loses_the_signature() -> None:
    sgml = (
        '<REUTERS TOPICS="YES" LEWISSPLIT="TEST" OLDID="1" NEWID="11">\n<TOPICS><D>acq</D></TOPICS>'
        "<PLACES><D>usa</D></PLACES><TEXT>&#2;\n<TITLE>BUYS &lt;X></TITLE>"
        "<BODY>It buys.\n Reuter\n&#3;</BODY></TEXT>\n</REUTERS>\n"
        '<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="12"><TOPICS><D>acq</D><D>earn</D></TOPICS></REUTERS>'
        '<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="13"><TOPICS><D>earn</D></TOPICS>'
        '<TEXT TYPE="UNPROC">&#2;\nRAW TEXT\n&#3;</TEXT></REUTERS>'
    )
    first, second = parse_sgml(sgml)
    assert (first["text"], first["label"], first["id"], first["split"]) == ("BUYS <X>\nIt buys.", "acq", 11, "TEST")
    assert (second["text"], second["type"], second["has_body"]) == ("RAW TEXT", "UNPROC", True)


def test_newsgroups_are_sampled_from_both_parts_and_decoded_as_latin_1(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "news.tar.gz", "w:gz") as archive:
        for label in ("alt.atheism", "sci.med"):
            for part, n in (("train", 400), ("test", 300)):
                for i in range(n):
                    add_member(archive, f"20news-bydate-{part}/{label}/{1000 + i}", f"caf\xe9 {i}".encode("latin-1"))
    prepare("newsgroups", [tmp_path / "news.tar.gz"], tmp_path / "out.jsonl.gz")
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    assert len(documents) == 1200
    assert {document["split"] for document in documents} == {"train", "test"}
    assert all(document["text"].startswith("café") for document in documents)
    assert len({(document["label"], document["split"], document["id"]) for document in documents}) == 1200


def test_the_same_documents_make_the_same_bytes(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "reuters.tar.gz", "w:gz") as archive:
        sgml = "".join(
            f'<REUTERS NEWID="{i}"><TOPICS><D>{"abcdef"[i % 6]}</D></TOPICS><TEXT><TITLE>T{i}</TITLE></TEXT></REUTERS>'
            for i in range(1, 40)
        )
        add_member(archive, "reut2-000.sgm", sgml.encode())
    for name in ("one", "two"):
        prepare("reuters", [tmp_path / "reuters.tar.gz"], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


class TestAgainstThePreparedFiles:
    """The sampling gives the very rows of the files the results were computed on."""

    pytestmark = needs_shared_data

    def test_caltech_rows_are_the_same(self, tmp_path: Path) -> None:
        expected = np.load(shared_data() / "caltech101_32.npz")
        sizes = dict(zip(expected["class_names"].tolist(), CALTECH_SIZES, strict=True))
        write_caltech(tmp_path / "caltech-101.zip", sizes, jpeg(size=(1, 1)))
        prepare("caltech-101", [tmp_path / "caltech-101.zip"], tmp_path / "out.npz")
        made = np.load(tmp_path / "out.npz")
        for key in ("files", "y", "class_names"):
            np.testing.assert_array_equal(made[key], expected[key])

    def test_tiny_imagenet_rows_are_the_same(self, tmp_path: Path) -> None:
        expected = np.load(shared_data() / "tiny_imagenet_32.npz")
        chosen = dict(zip([5, 12, 18, 98, 107, 146, 152, 170, 177, 182], expected["wnids"].tolist(), strict=True))
        wnids, last = [], "n00000000"
        for position in range(200):
            last = chosen.get(position, f"{last.split('x')[0]}x{position:03d}")
            wnids.append(last)
        image = jpeg(size=(1, 1))
        titles = dict(zip(expected["wnids"].tolist(), expected["class_names"].tolist(), strict=True))
        with zipfile.ZipFile(tmp_path / "tiny.zip", "w") as archive:
            archive.writestr("tiny-imagenet-200/words.txt", "\n".join(f"{w}\t{t}" for w, t in titles.items()))
            for wnid in wnids:
                for i in range(500 if wnid in titles else 1):
                    archive.writestr(f"tiny-imagenet-200/train/{wnid}/images/{wnid}_{i}.JPEG", image)
        prepare("tiny-imagenet", [tmp_path / "tiny.zip"], tmp_path / "out.npz")
        made = np.load(tmp_path / "out.npz")
        for key in ("files", "y", "wnids", "class_names"):
            np.testing.assert_array_equal(made[key], expected[key])

    def test_reuters_documents_are_the_same(self, tmp_path: Path) -> None:
        with gzip.open(shared_data() / "reuters_top5.jsonl.gz", "rt", encoding="utf-8") as lines:
            expected = [json.loads(line) for line in lines]
        with tarfile.open(tmp_path / "reuters.tar.gz", "w:gz") as archive:
            by_id = sorted(expected, key=lambda document: document["id"])
            add_member(archive, "reut2-000.sgm", "".join(map(as_sgml, by_id)).encode("latin-1"))
        prepare("reuters", [tmp_path / "reuters.tar.gz"], tmp_path / "out.jsonl.gz")
        with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as lines:
            made = [json.loads(line) for line in lines]
        assert [document["id"] for document in made] == [document["id"] for document in expected]
        assert [document["text"] for document in made] == [document["text"] for document in expected]
        assert made == expected


def as_sgml(document: dict[str, object]) -> str:
    text = html.escape(str(document["text"]), quote=False)
    title, newline, body = text.partition("\n")
    if document["type"] == "UNPROC":
        content = f"{text}\n Reuter\n&#3;"
    elif document["has_body"] and newline:
        content = f"<TITLE>{title}</TITLE><BODY>{body}\n Reuter\n&#3;</BODY>"
    elif document["has_body"]:
        content = f"<BODY>{text}\n Reuter\n&#3;</BODY>"
    else:
        content = f"<TITLE>{text}</TITLE>"
    kind = "" if document["type"] == "NORM" else f' TYPE="{document["type"]}"'
    return (
        f'<REUTERS TOPICS="{document["topics_attr"]}" LEWISSPLIT="{document["split"]}" NEWID="{document["id"]}">'
        f"<TOPICS><D>{document['label']}</D></TOPICS><TEXT{kind}>{content}</TEXT></REUTERS>"
    )
