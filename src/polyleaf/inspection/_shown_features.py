"""Values of features as pictures of Shapley values show them: in words, colours and on axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.estimator.wording import format_number
from polyleaf.inspection._plot_dependence import write_dates
from polyleaf.inspection._shap_values import ShapValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most categories with a colour of their own, most names on an axis, and letters in a line.
_MOST_COLOURS, _MOST_NAMES, _MOST_LETTERS = 10, 16, 26
#: A day in nanoseconds.
_DAY = 86_400e9


def shades_of(found: ShapValues, feature: int) -> NDArray[np.float64]:
    """Give values of a feature as ranks in [0, 1]; NaN where they are missing or not known."""
    if found.data is None:
        return np.full(found.values.shape[0], np.nan)
    column = np.asarray(found.data[:, feature], dtype=np.float64)
    shades = np.full(column.size, np.nan)
    known = ~np.isnan(column)
    unique, place = np.unique(column[known], return_inverse=True)
    shades[known] = place / max(unique.size - 1, 1) if unique.size > 1 else 0.5
    return shades


def _words(found: ShapValues, feature: int) -> NDArray[Any] | None:
    """Give what the codes of a feature mean; None for numbers."""
    return found.levels.get(feature, found.categories.get(feature))


def colours_of(
    found: ShapValues, feature: int
) -> tuple[Any, dict[float, str], tuple[float, float]]:
    """Choose colours for the shades of a feature, the ticks of their bar, and its ends."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    assert found.data is not None
    words, column = _words(found, feature), found.data[:, feature]
    known = [] if words is None else np.unique(column[~np.isnan(column)]).tolist()
    codes = [int(code) for code in known]
    if words is None or not codes:
        colours, ticks, margin = colormaps["coolwarm"], {0.0: "low", 1.0: "high"}, 0.0
    elif len(codes) > _MOST_COLOURS:
        first, last = str(words[codes[0]]), str(words[codes[-1]])
        colours, ticks, margin = colormaps["coolwarm"], {0.0: first, 1.0: last}, 0.0
    else:
        places = np.linspace(0.0, 1.0, len(codes)) if len(codes) > 1 else np.array([0.5])
        margin = 0.5 / max(len(codes) - 1, 1)
        ticks = {place: str(words[code]) for place, code in zip(places.tolist(), codes)}
        is_ordered = feature in found.levels
        own = (
            colormaps["coolwarm"](places) if is_ordered else colormaps["tab10"](range(len(codes)))
        )
        colours = ListedColormap(own)
    return colours.with_extremes(bad="#999999"), ticks, (-margin, 1.0 + margin)


def axis_values_of(found: ShapValues, feature: int) -> NDArray[Any]:
    """Give the values of a feature as matplotlib draws them: dates as dates, durations in days."""
    assert found.data is not None
    column: NDArray[Any] = found.data[:, feature]
    kind = found.times.get(feature)
    if kind == "date":
        dates: NDArray[Any] = np.nan_to_num(column).astype("datetime64[ns]")
        dates[np.isnan(column)] = np.datetime64("NaT")
        return dates
    return np.asarray(column / _DAY) if kind == "duration" else column


def name_ticks(panel: Axes, found: ShapValues, feature: int) -> None:
    """Write categories below the horizontal axis, as many as fit, and dates briefly."""
    if found.times.get(feature) == "date":
        write_dates(panel.xaxis)
    elif found.times.get(feature) == "duration":
        panel.set_xlabel(f"{found.feature_names[feature]} in days", fontsize=8, parse_math=False)
    words = _words(found, feature)
    if words is None:
        return
    places = range(0, words.size, -(-words.size // _MOST_NAMES))
    names = [str(words[place]) for place in places]
    is_long = sum(map(len, names)) + len(names) > _MOST_LETTERS
    rotation = 90 if is_long else 0
    panel.set_xticks(places, names, rotation=rotation, parse_math=False)


def value_in_words(found: ShapValues, row: int, feature: int) -> str:
    name = found.feature_names[feature]
    if found.data is None:
        return name
    value, words = float(found.data[row, feature]), _words(found, feature)
    if np.isnan(value):
        return f"{name} = missing"
    if found.times.get(feature) == "date":
        date = np.datetime64(int(value), "ns").astype("datetime64[s]")
        return f"{name} = {np.datetime_as_string(date, unit='auto')}"
    if feature in found.times:
        return f"{name} = {format_number(value / _DAY, 2)} days"
    # 0.0 is added because -0.0 would be written as -0.
    return f"{name} = {format_number(value + 0.0, 3) if words is None else words[int(value)]}"
