"""A sample of the hostile suite: no crash, no hang, no unclear error, no silent change.

`make fuzz` and `make soak` run the same tables for longer; see CONTRIBUTING.md.
"""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

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
        "experiments.Comparison",
        "experiments.BiasVariance",
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
    "draws; see tests/conformal": {"conformal.plot_outputs", "conformal.plot_region"},
    "needs a network": {"datasets.fetch"},
    "needs an optional reader": {"datasets.read_rda"},
}
MODULES = ("", ".metrics", ".decoding", ".datasets", ".projections", ".losses", ".graphs")
MODULES += (".hierarchy", ".inspection", ".experiments", ".tuning", ".export", ".conformal")


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


def test_every_public_callable_meets_the_cases():
    code = "import run_hostile; print(*run_hostile.all_targets(), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=RUN.parent,
    )
    targets = done.stdout.splitlines()
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
