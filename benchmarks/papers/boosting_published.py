"""What Joly et al. 2019 published: Tables 4 to 7 and, for the data at hand, Tables 10 to 12."""

from __future__ import annotations

#: Mean and standard deviation of macro-r2 by problem: chain, group, ind (Table 4).
TABLE_4 = {
    "artificial-gbrt": ((0.654, 0.015), (0.889, 0.009), (0.831, 0.004)),
    "st-gbrt": ((0.626, 0.016), (0.873, 0.008), (0.830, 0.003)),
    "gbmort": ((0.640, 0.008), (0.874, 0.012), (0.644, 0.010)),
    "gbrt-relabel-rpo": ((0.648, 0.015), (0.880, 0.009), (0.706, 0.009)),
    "gbrt-rpo": ((0.645, 0.013), (0.876, 0.007), (0.789, 0.003)),
}
#: The same with 16 outputs of noise (Table 6).
TABLE_6 = {
    "st-gbrt": ((0.265, 0.006), (0.364, 0.007), (0.3536, 0.0015)),
    "gbmort": ((0.291, 0.012), (0.394, 0.004), (0.1850, 0.0081)),
    "gbrt-relabel-rpo": ((0.292, 0.006), (0.395, 0.005), (0.2049, 0.0033)),
    "gbrt-rpo": ((0.303, 0.007), (0.414, 0.006), (0.3033, 0.0021)),
}
#: Macro-r2 over the 16 outputs that are none (Table 6).
TABLE_6_HALF = {
    "st-gbrt": (0.611, 0.840, 0.806),
    "gbmort": (0.617, 0.833, 0.486),
    "gbrt-relabel-rpo": (0.628, 0.855, 0.570),
    "gbrt-rpo": (0.629, 0.862, 0.739),
}
#: Student's paired t-tests of Tables 5 and 7: the better method first, and p; None: not legible in
#: our copy, but below 5 % as the text counts them. From 5 % on neither is better.
TABLE_5: dict[str, tuple[tuple[str, str, float | None], ...]] = {
    "chain": (
        ("artificial-gbrt", "st-gbrt", 0.003),
        ("artificial-gbrt", "gbmort", 0.16),
        ("artificial-gbrt", "gbrt-relabel-rpo", 0.34),
        ("artificial-gbrt", "gbrt-rpo", 0.24),
        ("gbmort", "st-gbrt", 0.11),
        ("gbrt-relabel-rpo", "st-gbrt", 0.04),
        ("gbrt-rpo", "st-gbrt", 0.03),
        ("gbrt-relabel-rpo", "gbmort", 0.38),
        ("gbrt-rpo", "gbmort", 0.46),
        ("gbrt-relabel-rpo", "gbrt-rpo", 0.57),
    ),
    "group": (
        ("artificial-gbrt", "st-gbrt", None),
        ("artificial-gbrt", "gbmort", 0.009),
        ("artificial-gbrt", "gbrt-relabel-rpo", 0.047),
        ("artificial-gbrt", "gbrt-rpo", 0.006),
        ("gbmort", "st-gbrt", 0.56),
        ("gbrt-relabel-rpo", "st-gbrt", 0.046),
        ("gbrt-rpo", "st-gbrt", 0.17),
        ("gbrt-relabel-rpo", "gbmort", 0.15),
        ("gbrt-rpo", "gbmort", 0.63),
        ("gbrt-relabel-rpo", "gbrt-rpo", 0.04),
    ),
    "ind": (
        ("artificial-gbrt", "st-gbrt", 0.17),
        ("artificial-gbrt", "gbmort", 2e-06),
        ("artificial-gbrt", "gbrt-relabel-rpo", 2e-06),
        ("artificial-gbrt", "gbrt-rpo", 1e-05),
        ("st-gbrt", "gbmort", 2e-06),
        ("st-gbrt", "gbrt-relabel-rpo", 4e-06),
        ("st-gbrt", "gbrt-rpo", 4e-06),
        ("gbrt-relabel-rpo", "gbmort", 9e-05),
        ("gbrt-rpo", "gbmort", 6e-06),
        ("gbrt-rpo", "gbrt-relabel-rpo", 3e-05),
    ),
}
TABLE_7: dict[str, tuple[tuple[str, str, float | None], ...]] = {
    "chain": (
        ("gbmort", "st-gbrt", 0.0009),
        ("gbrt-relabel-rpo", "st-gbrt", 0.0002),
        ("gbrt-rpo", "st-gbrt", 0.0002),
        ("gbrt-relabel-rpo", "gbmort", 0.86),
        ("gbrt-rpo", "gbmort", 0.04),
        ("gbrt-rpo", "gbrt-relabel-rpo", 0.03),
    ),
    "group": (
        ("gbmort", "st-gbrt", 0.0002),
        ("gbrt-relabel-rpo", "st-gbrt", 0.0006),
        ("gbrt-rpo", "st-gbrt", 0.0003),
        ("gbrt-relabel-rpo", "gbmort", 0.74),
        ("gbrt-rpo", "gbmort", 0.008),
        ("gbrt-rpo", "gbrt-relabel-rpo", 0.002),
    ),
    "ind": (
        ("st-gbrt", "gbmort", 1e-06),
        ("st-gbrt", "gbrt-relabel-rpo", 1e-07),
        ("st-gbrt", "gbrt-rpo", 1e-06),
        ("gbrt-relabel-rpo", "gbmort", 0.02),
        ("gbrt-rpo", "gbmort", 6e-06),
        ("gbrt-rpo", "gbrt-relabel-rpo", 2e-06),
    ),
}
#: Methods of Tables 10 to 12, in the order of the figures below.
REAL_METHODS = (
    "st-gbrt",
    "st-rf",
    "gbmort",
    "gbrt-relabel-rpo-gaussian",
    "gbrt-relabel-rpo-subsampled",
    "gbrt-rpo-gaussian",
    "gbrt-rpo-subsampled",
    "mo-rf",
)
#: LRAP (Tables 10 and 11) and macro-r2 (Table 12, the last four); "st" stands for "br", too.
#: None: not legible in our copy.
REAL_DATA: dict[str, tuple[float | None, ...]] = {
    "cal500": (0.505, 0.484, 0.501, 0.507, 0.499, 0.505, 0.506, 0.502),
    "bibtex": (0.587, 0.542, 0.595, 0.607, 0.596, 0.600, 0.595, 0.553),
    "birds": (0.787, 0.802, 0.772, 0.800, 0.790, 0.793, 0.779, 0.789),
    "corel5k": (0.291, 0.273, 0.312, 0.315, 0.310, 0.315, 0.312, 0.294),
    "delicious": (0.347, 0.373, 0.384, 0.389, 0.384, 0.386, 0.377, 0.373),
    "emotions": (0.800, 0.816, 0.794, 0.802, 0.808, 0.804, 0.802, 0.810),
    "enron": (0.685, 0.683, 0.705, 0.705, 0.697, 0.706, None, None),
    "genbase": (0.989, 0.994, 0.990, 0.993, 0.990, 0.992, None, None),
    "medical": (0.864, 0.821, 0.867, 0.867, 0.856, 0.859, 0.851, 0.827),
    "scene": (0.880, 0.876, 0.886, 0.884, 0.879, 0.884, 0.875, 0.865),
    "yeast": (0.756, 0.760, 0.760, 0.762, 0.758, 0.763, 0.758, 0.757),
    "atp1d": (0.78, 0.83, 0.80, 0.81, 0.79, 0.80, 0.81, 0.82),
    "atp7d": (0.59, 0.61, 0.63, 0.66, 0.54, 0.54, 0.54, 0.60),
    "edm": (0.34, 0.47, 0.39, 0.25, 0.35, 0.36, 0.31, 0.51),
    "wq": (0.13, 0.14, 0.14, 0.15, 0.14, 0.14, 0.13, 0.16),
}
#: Standard deviations beside them; those of data sets that are missing are not legible.
REAL_DEVIATIONS: dict[str, tuple[float | None, ...]] = {
    "cal500": (0.002, 0.002, 0.005, 0.009, 0.008, 0.006, 0.006, 0.003),
    "bibtex": (0.007, 0.005, 0.005, 0.005, 0.005, 0.003, 0.007, 0.005),
    "birds": (0.009, 0.013, 0.007, 0.017, 0.016, 0.017, 0.018, 0.012),
    "corel5k": (0.006, 0.012, 0.009, 0.007, 0.007, 0.010, 0.006, 0.010),
    "delicious": (0.002, 0.004, 0.003, 0.003, 0.003, 0.004, 0.003, 0.004),
    "emotions": (0.022, 0.009, 0.014, 0.017, 0.021, 0.009, 0.007, 0.010),
    "enron": (0.006, 0.005, 0.004, 0.003, 0.004, 0.004, None, None),
    "genbase": (0.009, 0.005, 0.004, 0.006, 0.010, 0.007, None, None),
    "medical": (0.006, 0.007, 0.011, 0.019, 0.012, 0.017, 0.009, 0.006),
    "scene": (0.003, 0.003, 0.004, 0.006, 0.008, 0.005, 0.006, 0.003),
    "yeast": (0.009, 0.008, 0.007, 0.007, 0.005, 0.005, 0.008, 0.008),
    "atp1d": (0.05, 0.02, 0.03, 0.03, 0.04, 0.04, 0.04, 0.03),
    "atp7d": (0.08, 0.07, 0.03, 0.04, 0.13, 0.20, 0.16, 0.06),
    "edm": (0.14, 0.04, 0.16, 0.28, 0.10, 0.04, 0.27, 0.02),
    "wq": (0.02, 0.01, 0.01, 0.01, 0.02, 0.01, 0.02, 0.01),
}
