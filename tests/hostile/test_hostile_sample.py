"""A sample of the hostile suite: no crash, no hang, no unclear error, no silent change.

`make fuzz` and `make soak` run the same tables for longer; see CONTRIBUTING.md.
"""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import polyleaf
from polyleaf.cli._app import app

RUN = Path(__file__).with_name("run_hostile.py")
#: Public callables that no table needs to meet, and why.
EXEMPT = {
    "abstract": {
        "decoding.Decoder",
        "graphs.GraphGenerator",
        "losses.Loss",
        "losses.MarginLoss",
        "projections.MixingProjection",
        "projections.Projection",
    },
    "a value that polyleaf makes": {
        "conformal.Region",
        "conformal.RegionReport",
        "conformal.SetReport",
        "experiments.BiasVariance",
        "experiments.Comparison",
        "experiments.CorrectedScore",
        "experiments.Evaluation",
        "experiments.FriedmanResult",
        "experiments.Standing",
        "experiments.Verdict",
        "inspection.ConsensusEdges",
        "inspection.Dependence",
        "inspection.Drift",
        "inspection.ImportanceTable",
        "inspection.PermutationImportances",
        "inspection.RankingStability",
        "inspection.SampledShapValues",
        "inspection.ShapValues",
        "inspection.SingleOutputClassifier",
        "inspection.SingleOutputRegressor",
        "losses.Quadratic",
        "projections.Feedback",
    },
    "an error or a warning": {
        "datasets.DataFormatError",
        "datasets.DataFormatWarning",
        "export.CannotExportError",
        "experiments.ResultsFileError",
    },
    "met inside another target": {
        "experiments.Method",
        "experiments.evaluate",
        "graphs.GraphContext",
        "graphs.draw_edges",
        "losses.LossTargets",
        "losses.check_finite",
        "losses.check_shapes",
        "metrics.Metric",
        "projections.FromTransformer",
        "projections.ProjectionContext",
        "conformal.ConformalClassifier",
        "conformal.ConformalRegressor",
        "tuning.TunedDecoder",
        "tuning.cross_val_proba",
    },
    "takes a callable, not data": {"losses.minimise_each"},
    "takes nothing": {"export.register_skl2onnx"},
    "needs a cluster; see tests/distributed": {"distributed.fit", "distributed.predict"},
    "what workers exchange; see tests/distributed": {
        "distributed.Collective",
        "distributed.CollectiveError",
        "distributed.FitReport",
        "distributed.Listener",
        "distributed.LocalCollective",
        "distributed.Part",
        "distributed.RoundTraffic",
        "distributed.Rows",
        "distributed.Settings",
        "distributed.SocketCollective",
        "distributed.ThreadCollective",
        "distributed.Traffic",
        "distributed.Trained",
    },
    "needs a network": {"datasets.fetch"},
    "needs an optional reader": {"datasets.read_rda"},
}
MODULES = ("", ".metrics", ".decoding", ".datasets", ".projections", ".losses", ".graphs")
MODULES += (".hierarchy", ".inspection", ".experiments", ".tuning", ".export", ".conformal")
MODULES += (".distributed",)
#: Rooms whose classes are parts of a training loop: their targets call the methods in its order.
OF_LOOPS = {"decoding", "projections", "losses", "graphs", "distributed"}
#: Methods that no target of their own meets, and why.
EXEMPT_METHODS = {
    "met as polyleaf.TunedDecoder and so on": {"tuning.", "conformal.Conformal"},
    "met by the target of the class": {
        "datasets.Dataset.",
        "datasets.MultiLabelKFold.",
        "experiments.AdaBoostMH.",
        "experiments.AllTargets.",
        "experiments.BestChain.",
        "experiments.Label",
        "experiments.OneModelPer",
        "experiments.RandomLinearCombinations.",
        "hierarchy.Hierarchy.close",
        "hierarchy.Hierarchy.n_violations",
        "hierarchy.Hierarchy.raise_ancestors",
        "metrics.Metric.prepare",
        "polyleaf.BinnedData.binned",
    },
    "takes what polyleaf has encoded": {"polyleaf.BinnedData.of_encoded"},
    "scikit-learn's": {"polyleaf.ConformalRegressor.get_params"},
}


def run_cases(*arguments):
    """Run the suite in a process of its own: it forks, which threads of other tests forbid."""
    command = [sys.executable, str(RUN), "--seed", "1", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def public_callables():
    for module in MODULES:
        room = importlib.import_module(f"polyleaf{module}")
        for name in room.__all__:
            if inspect.isclass(getattr(room, name)) or inspect.isroutine(getattr(room, name)):
                yield f"{module.removeprefix('.') or 'polyleaf'}.{name}"


def said_by(code):
    """Run code beside the tables; give the lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=RUN.parent,
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def targets():
    return said_by("import run_hostile; print(*run_hostile.all_targets(), sep='\\n')")


def test_every_public_callable_meets_the_cases(targets):
    exempt = set().union(*EXEMPT.values())
    missed = [
        name
        for name in public_callables()
        if name not in exempt
        and not any(
            target == name or target.startswith((f"{name}.", f"{name}:")) for target in targets
        )
    ]
    assert not missed
    assert exempt <= set(public_callables())


def public_methods():
    """Yield the methods of public classes, but `fit`, that take something."""
    for module in MODULES:
        room = importlib.import_module(f"polyleaf{module}")
        for name in room.__all__:
            if module.removeprefix(".") in OF_LOOPS or not inspect.isclass(getattr(room, name)):
                continue
            for method, function in inspect.getmembers(getattr(room, name), callable):
                is_own = str(getattr(function, "__module__", "")).startswith("polyleaf")
                if method.startswith("_") or method == "fit" or not is_own:
                    continue
                if set(inspect.signature(function).parameters) - {"self"}:
                    yield f"{module.removeprefix('.') or 'polyleaf'}.{name}.{method}"


def has_no_paper(name):
    cls = getattr(polyleaf, name.split(".")[1], None)
    return name.endswith(".paper") and not cls.paper_variants()


def test_every_public_method_meets_the_cases(targets):
    exempt = tuple(set().union(*EXEMPT_METHODS.values()))
    missed = [
        name
        for name in public_methods()
        if name not in targets and not name.startswith(exempt) and not has_no_paper(name)
    ]
    assert not missed


def test_every_command_is_in_the_table_and_ends_well_unspoilt():
    code = (
        "import os, tempfile\n"
        "from hostile_commands import CSV, COMMANDS, MODEL, ROWS, run_command\n"
        "os.chdir(tempfile.mkdtemp())\n"
        "for words in COMMANDS.values():\n"
        "    print(words[0], run_command(words, ROWS if MODEL in words else CSV))\n"
    )
    ends = [line.split() for line in said_by(code)]
    assert {name for name, _ in ends} == {
        command.name or command.callback.__name__ for command in app.registered_commands
    }
    assert {code for _, code in ends} == {"0"}


def test_a_sample_of_every_target_ends_well():
    assert " 0 failures" in run_cases("--cases", 8, "--seconds-each", 0.5)


@pytest.mark.parametrize(
    "path", sorted(RUN.with_name("corpus").glob("*.json")), ids=lambda path: path.stem
)
def test_what_failed_once_ends_well(path):
    code = (
        "import pathlib, sys, warnings, run_hostile\n"
        "warnings.simplefilter('ignore')\n"
        "outcome, why = run_hostile.replay(pathlib.Path(sys.argv[1]), run_hostile.all_targets())\n"
        "print(why)\n"
        "sys.exit(outcome == 'failed')\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=RUN.parent,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
