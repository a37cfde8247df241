import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from rsrae.data import documents
from rsrae.data.documents import DocumentEncoder, strip_mail_headers
from rsrae.data.sources import encoder_from_json, read_source
from rsrae.errors import InputError, ParameterError, SourceError

TEXTS = ["the red car drives", "the blue car stands", "a red bike and the car", "the the the red"]


def test_rows_are_sparse_unit_rows_of_damped_counts_and_rare_words() -> None:
    samples = read_source(TEXTS)
    assert isinstance(samples.X, sp.csr_array)
    assert samples.X.dtype == np.float32
    assert samples.feature_names is not None
    # By the formula: words of at least two documents, (1 + log n) * (log((1 + N) / (1 + df)) + 1), unit length.
    frequencies = {"the": 4, "red": 3, "car": 3}
    expected = np.zeros((4, 3))
    for i, text in enumerate(TEXTS):
        for j, (word, frequency) in enumerate(frequencies.items()):
            n = text.split().count(word)
            expected[i, j] = (1 + np.log(n)) * (np.log(5 / (1 + frequency)) + 1) if n else 0
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    order = [samples.feature_names.index(word) for word in frequencies]
    assert len(samples.feature_names) == 3
    np.testing.assert_allclose(samples.X.toarray()[:, order], expected, rtol=1e-6)


def test_a_document_is_encoded_the_same_alone_and_later() -> None:
    samples = read_source(TEXTS)
    assert samples.encoder is not None
    again = encoder_from_json(json.loads(json.dumps(samples.encoder.to_json())))
    assert again == samples.encoder
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(read_source([text], encoder=again).X.toarray(), samples.X[[i]].toarray())


def test_words_that_share_a_bucket_share_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "N_BUCKETS", 1)
    encoder = DocumentEncoder.fit(TEXTS)
    assert encoder.feature_names == ["the"]
    assert len(encoder.words[0]) == 3
    assert encoder.document_frequencies == (4,)
    assert encoder.encode(TEXTS).toarray().tolist() == [[1], [1], [1], [1]]


def test_only_the_most_frequent_columns_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_COLUMNS", 1)
    assert DocumentEncoder.fit(TEXTS).feature_names == ["the"]


def test_words_of_single_documents_are_kept_if_there_are_no_others() -> None:
    assert sorted(DocumentEncoder.fit(["one two", "three"]).feature_names) == ["one", "three", "two"]


def test_the_words_of_a_text_can_be_found_by_column() -> None:
    encoder = DocumentEncoder.fit(TEXTS)
    found = encoder.words_by_column("The RED sofa")
    assert {encoder.feature_names[column]: words for column, words in found.items()} == {
        "the": ["the"],
        "red": ["red"],
    }


def test_a_new_document_without_known_words_is_a_row_of_zeros_and_noted() -> None:
    samples = read_source(["quite other things"], encoder=read_source(TEXTS).encoder)
    assert samples.X.nnz == 0
    assert "1 documents hold no word the model knows." in samples.notes


def test_documents_without_words_are_skipped_with_their_labels() -> None:
    table = pa.table({"body": [*TEXTS, "", None, "!?"], "y": [0, 0, 0, 1, 0, 0, 0]})
    samples = read_source(table, text="body", label="y")
    assert samples.names == ["1", "2", "3", "4"]
    assert samples.skipped == [("5", "no words"), ("6", "no words"), ("7", "no words")]
    assert samples.labels is not None
    assert samples.labels.tolist() == [0, 0, 0, 1]


def test_a_folder_holds_one_document_a_file_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("schöne rote autos", encoding="utf-8")
    (tmp_path / "b.txt").write_text("schöne rote räder", encoding="latin-1")
    (tmp_path / "c.md").write_text("schöne neue autos", encoding="utf-16")
    (tmp_path / "alt.cars.51119").write_text("rote räder")
    (tmp_path / "d.txt").write_bytes(b"\x00\x01\x00\x00\x02")
    (tmp_path / "e.zip").write_bytes(b"PK")
    samples = read_source(tmp_path)
    assert samples.names == ["a.txt", "alt.cars.51119", "b.txt", "c.md"]
    assert [name for name, _ in samples.skipped] == ["d.txt"]
    assert sorted(samples.feature_names or ()) == ["autos", "rote", "räder", "schöne"]
    notes = " ".join(samples.notes)
    for part in ("1 files are read as cp1252", "1 files are read as utf-16", "1 files of other kinds"):
        assert part in notes
    assert samples.items.row(2) == {"text": "schöne rote räder"}


def test_a_sub_folder_of_documents_may_be_the_anomalies(tmp_path: Path) -> None:
    for name in ("a/1", "a/2", "b/1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("the same words")
    labels = read_source(tmp_path, label="b").labels
    assert labels is not None
    assert labels.tolist() == [0, 0, 1]


def test_a_text_file_holds_one_document_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join([*TEXTS, ""]), encoding="utf-16")
    samples = read_source(tmp_path / "a.txt", limit=3)
    assert samples.names == ["1", "2", "3"]
    assert "The text is read as utf-16." in samples.notes


def test_json_lines_have_a_text_and_an_id(tmp_path: Path) -> None:
    rows = [{"id": f"m{i}", "body": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    samples = read_source(tmp_path / "a.jsonl", text="body")
    assert samples.names == ["m0", "m1", "m2", "m3"]
    np.testing.assert_array_equal(samples.X.toarray(), read_source(TEXTS).X.toarray())
    # The model knows the column.
    assert read_source(tmp_path / "a.jsonl", encoder=samples.encoder).X.shape == samples.X.shape


MAIL = "From: ann@example.org\nSubject: secret\n give-away\n\nthe body: of it\n\nend"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (MAIL, "the body: of it\n\nend"),
        (MAIL.replace("\n", "\r\n"), "the body: of it\n\nend"),
        ("From ann Mon 1\nTo: bob\n\nhello", "hello"),
        ("Dear all,\nnote: this\n\nhello", "Dear all,\nnote: this\n\nhello"),
        ("Subject: no body", "Subject: no body"),
        ("", ""),
    ],
)
def test_mail_headers_are_cut_off_and_nothing_else(text: str, body: str) -> None:
    assert strip_mail_headers(text) == body


def test_the_model_remembers_to_cut_headers_off() -> None:
    mails = [MAIL, MAIL.replace("end", "the end")]
    samples = read_source(mails, strip_headers=True)
    assert "secret" not in (samples.feature_names or ())
    again = read_source(mails, encoder=samples.encoder)
    np.testing.assert_array_equal(again.X.toarray(), samples.X.toarray())
    assert "secret" in (read_source(mails).feature_names or ())


def test_stop_words_do_not_count_now_or_later(tmp_path: Path) -> None:
    texts = ["The engine of the car", "the car and the engine", "The Piston in THE engine"]
    (tmp_path / "words.txt").write_text("the\nof\nand in", encoding="utf-8")
    plain = read_source(texts)
    samples = read_source(texts, stop_words="english")
    assert "the" in (plain.feature_names or ())
    assert set(samples.feature_names or ()) == {"engine", "car"}
    assert any("stop words" in note for note in samples.notes)
    for same in (tmp_path / "words.txt", ["The", "OF", "and", "in"], np.array(["the", "of", "and", "in"])):
        np.testing.assert_array_equal(read_source(texts, stop_words=same).X.toarray(), samples.X.toarray())
    again = read_source(["the the engine"], encoder=samples.encoder)
    assert again.X.nnz == 1


@pytest.mark.parametrize("words", ["klingon", "missing.txt", "", "x" * 5000, [1, 2], 5, b"the"], ids=str)
def test_stop_words_that_are_none_are_an_error(words: Any) -> None:
    with pytest.raises(ParameterError, match="stop_words"):
        read_source(["one text", "two texts"], stop_words=words)


def test_a_model_has_its_own_stop_words() -> None:
    samples = read_source(["one text", "two texts"])
    with pytest.raises(ParameterError, match="fitted"):
        read_source(["one text"], stop_words="english", encoder=samples.encoder)


def test_texts_of_stop_words_alone_are_an_error() -> None:
    with pytest.raises(InputError, match="beside stop words"):
        read_source(["the of", "and in"], stop_words="english")


def test_texts_without_any_word_are_an_error() -> None:
    with pytest.raises(InputError, match="no document"):
        read_source(["!", "?"])


def test_nested_text_cells_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": ["x"]}\n{"body": ["y"]}')
    with pytest.raises(InputError, match="column 'body' holds lists"):
        read_source(tmp_path / "a.jsonl", text="body")


def test_an_empty_file_of_lines_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(SourceError, match="empty"):
        read_source(tmp_path / "a.txt")
