"""Published values of the papers' tables on data that are not at hand: named, not measured.

One line per data set, `mean±deviation` in the order of the methods; "-" where the paper has no
value or our copy of it is not legible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.papers.tables import Figure

#: Joly et al. 2014, Table 1 (random forests): all labels, m = 1, ln d, d.
RANDOM_FORESTS = """
tmc2007              0.756±0.003 0.741±0.003 0.748±0.003 0.757±0.003
reuters              0.865±0.004 0.864±0.003 0.863±0.004 0.862±0.004
mediamill            0.779±0.001 0.772±0.001 0.777±0.002 0.779±0.002
yeast-go             0.420±0.010 0.353±0.008 0.381±0.005 0.420±0.010
wipo                 0.490±0.010 0.430±0.010 0.460±0.010 0.480±0.010
eurlex-subjects      0.840±0.005 0.814±0.004 0.828±0.005 0.840±0.004
bookmarks            0.453±0.001 0.436±0.002 0.445±0.002 0.453±0.002
diatoms              0.700±0.010 0.650±0.010 0.670±0.010 0.710±0.020
eurlex-directory     0.814±0.006 0.782±0.008 0.796±0.009 0.813±0.007
scop-go              0.811±0.004 0.808±0.005 0.811±0.004 0.806±0.004
drug-interaction     0.379±0.014 0.384±0.009 0.378±0.013 0.367±0.016
protein-interaction  0.330±0.015 0.337±0.016 0.337±0.017 0.335±0.014
expression-go        0.235±0.005 0.211±0.005 0.219±0.005 0.232±0.005
eurlex-descriptors   0.523±0.008 0.485±0.008 0.497±0.009 0.523±0.007
"""
#: Joly et al. 2014, Table 3 (extra trees).
EXTRA_TREES = """
tmc2007              0.782±0.003 0.759±0.004 0.770±0.002 0.779±0.002
reuters              0.880±0.003 0.880±0.003 0.878±0.004 0.880±0.004
mediamill            0.786±0.002 0.778±0.002 0.781±0.002 0.784±0.001
yeast-go             0.490±0.009 0.470±0.010 0.482±0.008 0.480±0.010
wipo                 0.520±0.010 0.474±0.007 0.490±0.010 0.515±0.006
eurlex-subjects      0.845±0.006 0.834±0.004 0.838±0.003 0.845±0.005
bookmarks            0.453±0.002 0.436±0.002 0.444±0.003 0.452±0.002
diatoms              0.730±0.010 0.690±0.010 0.710±0.010 0.730±0.010
eurlex-directory     0.815±0.007 0.805±0.006 0.807±0.009 0.815±0.007
scop-go              0.778±0.005 0.782±0.004 0.782±0.006 0.778±0.005
drug-interaction     0.353±0.011 0.375±0.017 0.364±0.014 0.355±0.016
protein-interaction  0.299±0.013 0.307±0.009 0.305±0.012 0.306±0.017
expression-go        0.231±0.007 0.218±0.005 0.228±0.005 0.235±0.005
"""
#: Joly et al. 2019, Tables 10 and 11, in the order of `boosting_published.REAL_METHODS`.
LABELS_2019 = """
bookmarks            0.446±0.004 0.447±0.002 0.486±0.002 0.489±0.000 0.472±0.003 0.475±0.002 0.462±0.003 0.431±0.002
diatoms              0.623±0.007 0.623±0.011 0.656±0.012 0.725±0.010 0.685±0.012 0.702±0.014 0.653±0.013 0.653±0.010
drug-interaction     0.271±0.018 0.310±0.009 0.304±0.005 0.326±0.008 0.322±0.009 0.323±0.011 0.312±0.013 0.308±0.007
mediamill            0.745±0.002 0.782±0.001 0.750±0.001 0.766±0.002 0.759±0.001 0.761±0.001 - -
protein-interaction  0.294±0.007 0.293±0.006 0.310±0.007 0.310±0.009 0.303±0.003 0.311±0.007 0.303±0.003 0.288±0.009
reuters              0.939±0.003 0.941±0.002 0.948±0.001 0.951±0.001 0.944±0.002 0.949±0.002 0.943±0.003 0.934±0.002
scop-go              0.716±0.047 0.798±0.004 0.796±0.007 0.788±0.006 0.770±0.010 0.775±0.018 0.723±0.016 0.800±0.006
sequence-funcat      0.678±0.008 0.658±0.008 0.699±0.005 0.703±0.007 0.685±0.008 0.706±0.007 0.691±0.006 0.643±0.003
wipo                 0.706±0.009 0.633±0.013 0.762±0.011 0.776±0.012 0.751±0.017 0.763±0.010 0.724±0.011 0.624±0.018
yeast-go             0.499±0.009 0.463±0.010 0.504±0.015 0.524±0.012 0.496±0.013 0.522±0.012 0.499±0.011 0.415±0.014
"""  # noqa: E501
#: Joly et al. 2019, Table 12, in the same order.
NUMBERS_2019 = """
oes10   0.79±0.03 0.79±0.03 0.77±0.05 0.75±0.04 0.75±0.06 0.77±0.03 0.76±0.02 0.76±0.04
oes97   0.68±0.07 0.72±0.05 0.67±0.07 0.71±0.07 0.68±0.07 0.68±0.08 0.71±0.08 0.69±0.05
scm1d   0.905±0.003 0.907±0.004 0.908±0.003 0.910±0.004 0.912±0.003 0.910±0.004 0.908±0.004 0.898±0.004
scm20d  0.836±0.006 0.849±0.006 0.856±0.006 0.862±0.006 0.854±0.007 0.852±0.006 0.850±0.007 0.849±0.007
"""  # noqa: E501
#: Su and Rousu 2013, Table 2: SVM, bagged SVMs, AdaBoost.MH, MTL, MMCRF, MAM, for each measure.
GRAPHS = {
    "microlabel accuracy": """
fingerprint  89.7±0.2 85.0±0.7 84.1±0.5 82.7±0.3 89.5±0.3 89.5±0.8
nci60        84.7±0.7 79.5±0.8 79.3±1.0 84.0±1.1 85.4±0.9 85.7±0.7
""",
    "multilabel accuracy": """
fingerprint  1.0±1.0 0.0±0.0 0.0±0.0 0.0±0.0 0.4±0.9 0.4±0.5
nci60        43.1±1.3 21.1±1.3 2.5±0.6 47.0±1.4 36.9±0.8 40.0±1.0
""",
    "microlabel F1": """
fingerprint  66.3±0.8 64.4±1.9 62.8±1.6 0.4±0.4 65.0±1.4 65.0±2.1
nci60        45.9±1.9 53.9±1.3 32.9±2.0 32.9±0.9 46.7±2.8 47.1±2.9
""",
}
#: Breskvar et al. 2018, Table 4: Bag, Bag-ROS, Bag-ST, the same of RF and ET, multi-target PCT.
SELECTIONS = {
    "aRRMSE": """
forestry-kras  0.55 0.548 0.551 0.545 0.546 0.546 0.557 0.557 0.56 0.61
oes10          0.531 0.527 0.487 0.517 0.518 0.492 0.514 0.496 0.467 0.616
""",
    "overfitting score": """
forestry-kras  0.476 0.471 0.494 0.44 0.44 0.457 0.575 0.579 0.611 0.169
oes10          1.114 1.052 1.556 1.093 1.132 1.525 0.986 1.156 2.654 0.704
""",
    "s to learn": """
forestry-kras  394 267 34500 34.15 36.87 2250 450 281 73780 76.68
oes10          19 17 412 1.59 1.49 69 18.27 18.57 480 0.80
""",
    "µs to predict": """
forestry-kras  272 274 3960 259 273 2300 264 274 3450 2.39
oes10          157 159 3960 189 208 4760 180 201 4410 2.81
""",
    "nodes": """
forestry-kras  3220000 3200000 34610000 3160000 3150000 17130000 3670000 3670000 39960000 2590
oes10          31500 31400 215000 31500 31600 435100 34800 35000 512900 450
""",
}
#: Breskvar et al. 2018, Table 11: RP-RF, RP-ET, RLC, Bag-ROS, RF-ROS, ET-ROS.
TRANSFORMATIONS = """
adni                     0.941 0.936 0.940 0.923 0.918 0.916
forestry-kras            0.558 0.583 0.629 0.548 0.546 0.557
oes10                    0.468 0.467 0.447 0.527 0.518 0.496
oes97                    0.535 0.513 0.513 0.572 0.528 0.518
ppmi                     0.730 0.757 0.767 0.739 0.750 0.746
prespa-diatoms           0.831 0.827 0.811 0.937 0.939 0.928
rf2                      0.145 0.151 0.241 0.147 0.168 0.153
scm1d                    0.311 0.285 0.376 0.305 0.310 0.281
scm20d                   0.366 0.324 0.595 0.354 0.379 0.316
soil-resilience          0.847 0.845 0.761 0.872 0.872 0.873
vegetation-condition     0.605 0.603 0.647 0.603 0.603 0.599
vegetation-clustering    0.702 0.702 0.790 0.699 0.703 0.696
"""


def figures(text: str, methods: Sequence[str]) -> Iterator[tuple[str, str, Figure]]:
    """Read a table: data set, method and published value, those that are not legible left out.

    Examples
    --------
    >>> next(figures(TRANSFORMATIONS, ("RP-RF", "RP-ET", "RLC", "Bag-ROS", "RF-ROS", "ET-ROS")))
    ('adni', 'RP-RF', Figure(mean=0.941, deviation=None))
    """
    for line in text.strip().splitlines():
        name, *cells = line.split()
        for method, cell in zip(methods, cells, strict=True):
            if cell == "-":
                continue
            mean, _, deviation = cell.partition("±")
            yield name, method, Figure(float(mean), float(deviation) if deviation else None)
