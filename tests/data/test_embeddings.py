from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from rsrae.data.sources import encoder_from_json, read_source
from rsrae.errors import InputError

VECTORS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16, bool])
def test_vectors_of_any_type_become_float32(dtype: type) -> None:
    samples = read_source(VECTORS.astype(dtype))
    assert (samples.kind, samples.X.dtype) == ("embeddings", np.float32)
    np.testing.assert_array_equal(samples.X, VECTORS.astype(dtype).astype(np.float32))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 4)], ids=str
)
def test_a_parquet_column_of_lists_holds_vectors(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"id": list("abcdef"), "v": pa.array(VECTORS.tolist(), type=kind), "y": [0] * 5 + [1]})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    samples = read_source(tmp_path / "a.parquet", label="y")
    np.testing.assert_array_equal(samples.X, VECTORS)
    assert samples.names == list("abcdef")
    assert samples.items.row(5) == {"id": "f", "y": 1}
    assert samples.labels is not None
    assert samples.labels.sum() == 1


def test_one_number_a_column_is_read_as_vectors_when_asked(tmp_path: Path) -> None:
    table = pa.table({"who": list("abcdef"), **{f"d{j}": VECTORS[:, j] for j in range(4)}})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    samples = read_source(tmp_path / "a.parquet", kind="embeddings", id="who")
    np.testing.assert_array_equal(samples.X, VECTORS)
    assert samples.names == list("abcdef")
    with pytest.raises(InputError, match="'who'"):
        read_source(tmp_path / "a.parquet", kind="embeddings")


def test_a_polars_frame_may_hold_vectors() -> None:
    frame = pl.DataFrame({"v": VECTORS.tolist()})
    np.testing.assert_allclose(read_source(frame, kind="embeddings").X, VECTORS)


def test_several_columns_of_vectors_must_be_told_apart() -> None:
    table = pa.table({"v": VECTORS.tolist(), "w": VECTORS.tolist()})
    with pytest.raises(InputError, match="'v', 'w'"):
        read_source(table)
    assert read_source(table, drop=["w"]).X.shape == (6, 4)


def test_sparse_rows_stay_sparse() -> None:
    matrix = sp.random(50, 20, density=0.1, format="coo", random_state=0)
    samples = read_source(matrix, limit=30)
    assert isinstance(samples.X, sp.csr_array)
    assert samples.X.dtype == np.float32
    np.testing.assert_allclose(samples.X.toarray(), matrix.toarray()[:30], rtol=1e-6)
    matrix.data[3] = np.nan
    with pytest.raises(InputError, match="1 values are missing"):
        read_source(matrix)


def test_names_are_taken_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("\n".join("abcdef"))
    assert read_source(VECTORS, names=tmp_path / "names.txt").names == list("abcdef")


def test_vectors_of_another_length_do_not_fit_the_model() -> None:
    encoder = read_source(VECTORS).encoder
    assert encoder is not None
    again = encoder_from_json(encoder.to_json())
    assert read_source(VECTORS[:1], encoder=again).X.shape == (1, 4)
    with pytest.raises(InputError, match="length 3, but the model knows length 4"):
        read_source(VECTORS[:, :3], encoder=again)
