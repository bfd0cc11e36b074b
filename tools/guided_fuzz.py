"""Fuzz the readers and the model loader, guided by coverage; run by `make fuzz-guided`.

atheris looks which lines of `polyleaf.datasets` and `polyleaf.files` an input reaches and mutates
the inputs that reach new ones. The first byte of an input chooses the reader. An input that ends
in anything but a clear error is kept in tests/hostile/corpus/guided, and replayed first.
"""

import argparse
import inspect
import os
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

HERE = Path(__file__).parents[1] / "tests/hostile"
KEPT = HERE / "corpus/guided"

sys.path.insert(0, str(HERE))
import hostile_files  # noqa: E402

import polyleaf.datasets  # noqa: E402
import polyleaf.files.saving  # noqa: E402
import polyleaf.files.storage  # noqa: E402

SUFFIXES = {hostile_files.CSV: ".csv"}
READERS = [*hostile_files.READERS.items()]


def instrument(rooms):
    """Let atheris see the lines of all functions of some rooms.

    Not by its import hook: the loader of an editable installation hides modules from it.
    """
    for name, module in list(sys.modules.items()):
        if not name.startswith(rooms):
            continue
        for value in list(vars(module).values()):
            if getattr(value, "__module__", None) != name:
                continue
            for part in vars(value).values() if inspect.isclass(value) else (value,):
                if inspect.isfunction(part):
                    atheris.instrument_func(part)


def load_model(path):
    """Load a model and use it, unless it is refused."""
    try:
        hostile_files.use(polyleaf.files.saving.load(path))
    except polyleaf.files.storage.ModelFileError:
        return


def try_input(data):
    """Give the bytes behind the first one to a reader; only clear errors may come back."""
    if len(data) < 2:
        return
    number = data[0] % (len(READERS) + 1)
    is_model = number == len(READERS)
    suffix = ".polyleaf" if is_model else SUFFIXES.get(READERS[number][1][1], ".arff")
    path = Path(f"input{suffix}")
    path.write_bytes(data[1:])
    if is_model:
        load_model(path)
        return
    try:
        READERS[number][1][0](path)
    except (polyleaf.datasets.DataFormatError, ValueError):
        return


def write_seeds(folder):
    """Write one harmless input for every reader, and some model files."""
    for number, (_, (_, content)) in enumerate(READERS):
        (folder / f"reader{number}").write_bytes(bytes([number]) + content)
    for path in sorted(hostile_files.GOLDEN.glob("*.polyleaf"))[::10]:
        (folder / path.stem).write_bytes(bytes([len(READERS)]) + path.read_bytes())


def main():
    """Fuzz for so many seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        write_seeds(seeds)
        os.chdir(folder)
        arguments = [
            f"-max_total_time={options.seconds}",
            "-timeout=30",
            "-rss_limit_mb=4096",
            "-max_len=65536",
            f"-artifact_prefix={KEPT}/",
            str(seeds),
            str(KEPT),
        ]
        instrument(("polyleaf.datasets", "polyleaf.files"))
        atheris.Setup([sys.argv[0], *arguments], try_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
