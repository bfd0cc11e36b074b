"""Sparse matrices of every format, whole and with index arrays that do not fit."""

import numpy as np
from scipy import sparse

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"]
WRONG = [-1, 10**6, -(2**31), 2**31 - 1, 7]


def some_sparse(array, rng, formats=FORMATS):
    """Return the values in a sparse format, as an array or a matrix."""
    try:
        table = np.atleast_2d(array).astype(np.float64)
    except (TypeError, ValueError):
        table = np.eye(3)
    matrix = sparse.csr_array(table) if rng.random() < 0.5 else sparse.csr_matrix(table)
    return matrix.asformat(formats[int(rng.integers(len(formats)))])


def broken_sparse(array, rng):
    """Return a sparse matrix one of whose arrays does not fit the others or the shape."""
    matrix = some_sparse(array, rng, ["csr", "csr", "csc", "coo", "bsr", "dia", "lil"]).copy()
    names = {
        "csr": ["indices", "indptr", "data"],
        "csc": ["indices", "indptr", "data"],
        "bsr": ["indices", "indptr", "data"],
        "coo": ["row", "col", "data"],
        "dia": ["offsets", "data"],
        "lil": ["rows", "data"],
    }[matrix.format]
    name = names[int(rng.integers(len(names)))]
    part = getattr(matrix, name)
    if part.size == 0:
        return matrix
    kind = int(rng.integers(4))
    if kind <= 1 and name != "data":
        at = int(rng.integers(part.size))
        wrong = WRONG[int(rng.integers(len(WRONG)))]
        if matrix.format == "lil":
            part[int(rng.integers(len(part)))] = [wrong]
        else:
            part = part.copy()
            part[at] = wrong
    elif kind == 2:
        part = part[:-1]
    else:
        part = np.concatenate([part, part])
    try:
        setattr(matrix, name, part)
    except (AttributeError, ValueError, TypeError):  # SciPy itself refuses it
        return matrix
    return matrix
