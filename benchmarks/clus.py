"""CLUS-HMC, from the package `pyclus`: settings as its papers have them, scores of test rows.

CLUS is a Java program under the GPL, which runs beside us as a process of its own. It needs a
`java` on the path. Trees follow Vens et al. (2008): at least 5 rows per leaf, the level of the
F-test chosen on validation rows, then a tree of all training rows. Ensembles follow Schietgat et
al. (2010) and Kocev et al. (2013): 50 trees, at least 5 rows per leaf; random forests try a tenth
of the features, and one more, at each node. Of ensembles on graphs with thousands of labels CLUS
is not asked for its own area: its curves take more than the 6 GB that it gets.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

OPENED = ("java.util", "java.lang", "java.io")
SETTINGS = """\
[General]
RandomSeed = 1
Verbose = 0
[Data]
File = {train}
TestSet = {test}
{prune}
[Hierarchical]
Type = {kind}
WType = ExpAvgParentWeight
WParam = 0.75
HSeparator = /
[Tree]
FTest = {f_test}
[Model]
MinimalWeight = 5.0
[Output]
WritePredictions = Test
TrainErrors = No
TestErrors = {errors}
{ensemble}
"""
ENSEMBLE = """\
[Ensemble]
Iterations = 50
EnsembleMethod = {method}
SelectRandomSubspaces = {n_features}
NumberOfThreads = {n_threads}
"""
#: Labels up to which ensembles compute their own area.
MOST_LABELS = 1000
LEVELS = "[0.001,0.005,0.01,0.05,0.1,0.125]"


@dataclass(frozen=True)
class ClusRun:
    """What CLUS gave.

    Attributes
    ----------
    scores : ndarray of shape (n, d)
        Of the test rows.
    pooled : float
        The area that CLUS itself prints, with its interpolation; NaN where it is not asked for it.
    seconds : float
        By the clock, with reading and writing of files.
    """

    scores: NDArray[np.float64]
    pooled: float
    seconds: float


def clus_jar() -> Path:
    """Find the program of the installed package."""
    try:
        files = importlib.metadata.files("pyclus") or []
    except importlib.metadata.PackageNotFoundError as error:
        raise SystemExit("CLUS is not there: pip install pyclus, or --skip-clus.") from error
    if shutil.which("java") is None:
        raise SystemExit("CLUS needs java on the path; or --skip-clus.")
    return next(Path(str(file.locate())) for file in files if file.name == "clus.jar")


def run_clus(
    method: str,
    parts: dict[str, Path],
    kind: str,
    names: list[str],
    n_features: int,
    folder: Path,
    n_threads: int = 1,
) -> ClusRun:
    """Train on training and validation rows, predict the test rows.

    Parameters
    ----------
    method : {"tree", "Bagging", "RForest"}
    parts : dict
        Paths of the files "train", "valid" and "test".
    kind : {"Tree", "DAG"}
    names : list of str
        Labels, in the order wanted.
    n_features : int
    folder : Path
        Of our own, for what CLUS writes.
    n_threads : int
    """
    both = _joined(parts, folder)
    settings = {"kind": kind, "test": parts["test"], "prune": "", "ensemble": "", "errors": "Yes"}
    start = time.perf_counter()
    if method == "tree":
        prune = f"PruneSet = {parts['valid']}"
        chosen = settings | {"train": parts["train"], "f_test": LEVELS, "prune": prune}
        found = run_settings(SETTINGS.format(**chosen), folder, "levels", [])
        match = re.search(r"FTValue \(FTest\): (\S+)", found)
        assert match is not None, found
        settings["f_test"] = match.group(1)
        options: list[str] = []
    else:
        size = n_features // 10 + 1 if method == "RForest" else 0
        ensemble = ENSEMBLE.format(method=method, n_features=size, n_threads=n_threads)
        errors = "Yes" if len(names) <= MOST_LABELS else "No"
        settings |= {"f_test": "1.0", "ensemble": ensemble, "errors": errors}
        options = ["-forest"]
    out = run_settings(SETTINGS.format(train=both, **settings), folder, "model", options)
    seconds = time.perf_counter() - start
    areas = re.findall(r"Pooled AUPRC:\s+(\S+)", out)
    pooled = [float(area) for area in areas] if settings["errors"] == "Yes" else [float("nan")]
    return ClusRun(_predictions(folder / "model.test.pred.arff", names), pooled[-1], seconds)


def _joined(parts: dict[str, Path], folder: Path) -> Path:
    """Write training and validation rows into one file."""
    train, valid = (parts[part].read_text() for part in ("train", "valid"))
    _, _, rows = re.split(r"(?i)(\n@data[^\n]*\n)", valid, maxsplit=1)
    path = folder / "both.arff"
    path.write_text(train.rstrip("\n") + "\n" + rows)
    return path


def run_settings(settings: str, folder: Path, name: str, options: list[str]) -> str:
    """Run CLUS on settings in a folder, and give what it reports."""
    (folder / f"{name}.s").write_text(settings)
    opened = [word for part in OPENED for word in ("--add-opens", f"java.base/{part}=ALL-UNNAMED")]
    # One thread collects garbage: CLUS is given one, too, and its processor time is compared.
    command = [
        "java",
        *opened,
        "-XX:+UseSerialGC",
        "-Xmx6g",
        "-jar",
        str(clus_jar()),
        *options,
        f"{name}.s",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    path = folder / f"{name}.out"
    if done.returncode or not path.exists():
        raise RuntimeError(f"CLUS failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return path.read_text()


def _predictions(path: Path, names: list[str]) -> NDArray[np.float64]:
    """Read the scores of the last model in a file of predictions."""
    columns: dict[str, int] = {}
    rows: list[list[float]] = []
    place, in_data, wanted = 0, False, [0]
    with path.open() as lines:
        for line in lines:
            if in_data and line.strip():
                cells = line.rstrip("\n").split(",")
                rows.append([float(cells[at]) for at in wanted])
            elif line.startswith("@ATTRIBUTE"):
                found = re.match(r"@ATTRIBUTE \"?[^-]+-p-([^\s\"]+)", line)
                if found:
                    columns[found.group(1)] = place
                place += 1
            elif line.upper().startswith("@DATA"):
                in_data, wanted = True, [columns[name] for name in names]
    return np.array(rows)


def numeric_predictions(path: Path, names: list[str]) -> NDArray[np.float64]:
    """Read the numbers that the first model predicted, in the order of names."""
    columns: list[str] = []
    rows: list[list[str]] = []
    in_data = False
    for line in path.read_text().splitlines():
        if in_data and line.strip():
            rows.append(line.split(","))
        elif line.upper().startswith("@ATTRIBUTE"):
            columns.append(line[len("@ATTRIBUTE") :].strip().rsplit(None, 1)[0].strip('" '))
        elif line.upper().startswith("@DATA"):
            in_data = True
    wanted = [
        next(place for place, column in enumerate(columns) if column.endswith(f"-p-{name}"))
        for name in names
    ]
    return np.array([[float(row[place]) for place in wanted] for row in rows])
