"""The public data sets for measuring: how to read each, and what was published about it.

The files are not part of this repository. They are looked for in the folder that the environment
variable ``POLYLEAF_DATA`` names, or in ``../shared/data`` beside the repository.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from polyleaf.datasets import (
    DataFormatWarning,
    Dataset,
    concatenate,
    read_clus,
    read_mat,
    read_meka,
    read_mulan,
    read_rda,
)

Task = Literal["multilabel", "multiclass", "regression"]


def data_folder() -> Path | None:
    """Return the folder of the public data sets, or None where there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("POLYLEAF_DATA", default))
    return folder if folder.is_dir() else None


@dataclass(frozen=True)
class RealData:
    """A public data set.

    Parameters
    ----------
    name : str
        Its folder within the folder of its task.
    task : {"multilabel", "multiclass", "regression"}
        What its outputs are.
    n, p, d : int
        The published numbers of rows, features and outputs.
    read : callable
        Reads it from its own folder.
    n_nominal : int
        Features with more or other levels than 0 and 1.
    n_missing_features, n_missing_outputs : int
        How many values of X and of Y are missing.
    cardinality : float or None
        The mean number of labels of a row, of the known ones; None unless multi-label.
    """

    name: str
    task: Task
    n: int
    p: int
    d: int
    read: Callable[[Path], Dataset]
    n_nominal: int = 0
    n_missing_features: int = 0
    n_missing_outputs: int = 0
    cardinality: float | None = None

    def load(self, data: Path) -> Dataset:
        """Read the data set, given the folder of all data sets."""
        folder = "regression" if self.task == "regression" else "multilabel"
        return replace(self.read(data / folder / self.name), name=self.name)


def _mulan(arff: str, xml: str) -> Callable[[Path], Dataset]:
    return lambda folder: read_mulan(folder / arff, folder / xml)


def _last(arff: str, n_targets: int) -> Callable[[Path], Dataset]:
    return lambda folder: read_mulan(folder / arff, n_targets=n_targets)


def _meka(arff: str) -> Callable[[Path], Dataset]:
    return lambda folder: read_meka(folder / arff)


def _clus_parts(*arff: str) -> Callable[[Path], Dataset]:
    return lambda folder: concatenate(
        [read_clus(folder / part) for part in arff], name=folder.name
    )


def _scene(folder: Path) -> Dataset:
    parts = [folder / "scene-train.arff", folder / "scene-test.arff"]
    return concatenate([read_mulan(part, folder / "scene.xml") for part in parts], name="scene")


def _langlog(folder: Path) -> Dataset:
    with warnings.catch_warnings():
        # Its header says that the labels come first; they come last.
        warnings.simplefilter("ignore", DataFormatWarning)
        return read_meka(folder / "MEKA-llog.arff")


def _eucalypts(folder: Path) -> Dataset:
    species = [
        "ALA",
        "ARE",
        "BAX",
        "CAM",
        "GON",
        "MEL",
        "OBL",
        "OVA",
        "WIL",  # codespell:ignore
        "ALP",
        "VIM",
        "ARO.SAB",
    ]
    return read_rda(folder / "eucalypts.rda", targets=species, exclude=["latitude", "longitude"])


def _births2(folder: Path) -> Dataset:
    path = folder / "births2.csv"
    names = [name.strip('"') for name in path.read_text().split("\n", 1)[0].strip().split(",")]
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return Dataset(table[:, :-4], table[:, -4:], names[:-4], names[-4:], "births2")


def _nutrimouse(folder: Path) -> Dataset:
    tables = []
    names = []
    for part in ("gene.csv", "lipid.csv"):
        header = (folder / part).read_text().split("\n", 1)[0].strip()
        names.append([name.strip('"') for name in header.split(",")])
        tables.append(np.loadtxt(folder / part, delimiter=",", skiprows=1))
    return Dataset(tables[0], tables[1], names[0], names[1], "nutrimouse")


def _label(
    name: str,
    shape: tuple[int, int, int],
    cardinality: float,
    read: Callable[[Path], Dataset] | None = None,
    **counts: int,
) -> RealData:
    read = read or _mulan(f"{name}.arff", f"{name}.xml")
    return RealData(name, "multilabel", *shape, read, cardinality=cardinality, **counts)


def _target(
    name: str,
    shape: tuple[int, int, int],
    read: Callable[[Path], Dataset] | None = None,
    **counts: int,
) -> RealData:
    return RealData(name, "regression", *shape, read or _last(f"{name}.arff", shape[2]), **counts)


def _collembola(folder: Path) -> Dataset:
    return read_clus(folder / "testMTR-RealWorld.arff", n_targets=3)


def _rcv1(folder: Path) -> Dataset:
    return read_mat(folder / "rcv1s1.mat")


def _mite(folder: Path) -> Dataset:
    return read_rda(folder / "mite.env.rda", folder / "mite.rda")


def _varespec(folder: Path) -> Dataset:
    return read_rda(folder / "varechem.rda", folder / "varespec.rda")


_COREL5K = _mulan("Corel5k-sparse.arff", "Corel5k.xml")
_CELLCYCLE = _clus_parts(*(f"cellcycle_FUN.{part}.arff" for part in ("train", "valid", "test")))
_CELLCYCLE_GO = _clus_parts(*(f"cellcycle_GO.{part}.arff" for part in ("train", "valid", "test")))
_PHENO = _clus_parts(*(f"pheno_FUN.{part}.arff" for part in ("train", "valid", "test")))
_RIVERS = _clus_parts("sr_percL=100_0_SLTrain.arff", "sr_percL=100_0_Test.arff")

_THYROID = RealData(
    "thyroid-L7",
    "multiclass",
    n=9172,
    p=29,
    d=7,
    read=_meka("thyroid-L7.arff"),
    n_nominal=22,
    n_missing_features=14629,
)
_TCAST = _label(
    "tcast",
    (320, 1633, 424),
    15.15,
    _last("tcast.arff", 424),
    n_missing_features=9652,
    n_missing_outputs=29381,
)

# (n, p, d), then the cardinality of multi-label sets.
_SETS = (
    _label("emotions", (593, 72, 6), 1.868),
    _label("scene", (2407, 294, 6), 1.074, _scene),
    _label("yeast", (2417, 103, 14), 4.237),
    _label("birds", (645, 260, 19), 1.014, n_nominal=1),
    _label("flags", (194, 19, 7), 3.392, n_nominal=4),
    _label("foodtruck", (407, 21, 12), 2.290, n_nominal=4),
    _label("genbase", (662, 1186, 27), 1.252, n_nominal=1186),
    _label("medical", (978, 1449, 45), 1.245),
    _label("enron", (1702, 1001, 53), 3.378),
    _label("cal500", (502, 68, 174), 26.044),
    _label("bibtex", (7395, 1836, 159), 2.402),
    _label("corel5k", (5000, 499, 374), 3.522, _COREL5K),
    _label("delicious", (16105, 500, 983), 19.02),
    _label("reuters-k500", (6000, 500, 103), 1.462),
    _label("slashdot", (3782, 1079, 22), 1.181, _meka("MEKA-SLASHDOT-F.arff")),
    _label("langlog", (1460, 1004, 75), 1.180, _langlog),
    _label("rcv1", (6000, 944, 101), 2.880, _rcv1),
    _THYROID,
    _TCAST,
    _label("hmc-cellcycle-fun", (3757, 77, 499), 8.76, _CELLCYCLE, n_missing_features=16122),
    _label("hmc-cellcycle-go", (3751, 77, 4125), 34.91, _CELLCYCLE_GO, n_missing_features=16136),
    _label("hmc-pheno-fun", (1591, 69, 455), 9.08, _PHENO, n_nominal=69),
    _label("slovenian-rivers", (1060, 16, 724), 61.07, _RIVERS),
    _label("eco-eucalypts", (458, 7, 12), 1.838, _eucalypts),
    _target("andro", (49, 30, 6)),
    _target("atp1d", (337, 411, 6)),
    _target("atp7d", (296, 411, 6)),
    _target("edm", (154, 16, 2)),
    _target("enb", (768, 8, 2)),
    _target("jura", (359, 15, 3)),
    _target("osales", (639, 401, 12), n_missing_features=10012),
    _target("rf1", (9125, 64, 8), n_missing_features=3264),
    _target("scpf", (1137, 23, 3), n_missing_features=9255),
    _target("sf1", (323, 10, 3), n_nominal=10),
    _target("sf2", (1066, 10, 3), n_nominal=10),
    _target("slump", (103, 7, 3)),
    _target("wq", (1060, 16, 14)),
    _target("collembola", (393, 47, 3), _collembola, n_nominal=7, n_missing_features=3618),
    _target("nutrimouse", (40, 120, 21), _nutrimouse),
    _target("births2", (10000, 24, 4), _births2),
    _target("eco-mite", (70, 5, 35), _mite, n_nominal=3),
    _target("eco-varespec", (24, 14, 44), _varespec),
)

REAL_DATA = {entry.name: entry for entry in _SETS}
