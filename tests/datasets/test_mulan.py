import numpy as np
import pytest

from polyleaf.datasets import DataFormatError, DataFormatWarning, read_mulan

ARFF = r"""@relation toy
@attribute word numeric
@attribute TAG_musica {0,1}
@attribute TAG_m\'usica {0,1}
@attribute TAG_dise\~no {0,1}
@attribute 'Swainson\'s Thrush' {0,1}
@data
1,0,1,0,1
2,1,0,1,0
"""


def labels_xml(*names):
    elements = "".join(f'<label name="{name}"></label>\n' for name in names)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<labels xmlns="http://mulan.sourceforge.net/labels">\n{elements}</labels>\n'
    )


def test_xml_names_match_with_and_without_backslash_escapes(write):
    xml = labels_xml("TAG_musica", r"TAG_m\'usica", r"TAG_dise\~no", "Swainson's Thrush")
    data = read_mulan(write("toy.arff", ARFF), write("toy.xml", xml))
    assert data.feature_names == ["word"]
    assert data.output_names == ["TAG_musica", "TAG_m'usica", r"TAG_dise\~no", "Swainson's Thrush"]
    np.testing.assert_array_equal(data.Y, [[0, 1, 0, 1], [1, 0, 1, 0]])


def test_outputs_come_in_the_order_of_the_arff_file(write):
    xml = labels_xml("Swainson's Thrush", "TAG_musica")
    data = read_mulan(write("toy.arff", ARFF), write("toy.xml", xml))
    assert data.output_names == ["TAG_musica", "Swainson's Thrush"]
    assert data.n_features == 3


def test_nested_labels_and_prefixed_tags_are_read(write):
    xml = (
        "<m:labels xmlns:m='u'><m:label name='TAG_musica'>"
        "<m:label name='word'/></m:label></m:labels>"
    )
    data = read_mulan(write("toy.arff", ARFF), write("toy.xml", xml))
    assert data.output_names == ["word", "TAG_musica"]


def test_targets_come_in_the_order_asked_for(write):
    data = read_mulan(write("toy.arff", ARFF), targets=["Swainson's Thrush", 1])
    assert data.output_names == ["Swainson's Thrush", "TAG_musica"]
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])


def test_last_attributes_are_outputs_by_number(write):
    assert read_mulan(write("toy.arff", ARFF), n_targets=2).output_names == [
        r"TAG_dise\~no",
        "Swainson's Thrush",
    ]


BILLION_LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE labels [\n<!ENTITY a0 "ha">\n'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">\n' for i in range(1, 30))
    + ']>\n<labels><label name="&a29;"/></labels>'
)
DAMAGED_XML = {
    "": "well-formed XML",
    "not xml": "well-formed XML",
    "<labels><label name='word'></labels>": "well-formed XML",
    "<labels></labels>": "expected <label> elements, found none",
    "<labels><label/></labels>": "expected a label with a name",
    "<labels><label name='absent'/></labels>": "got 'absent'",
    r"<labels><label name='TAG_m\'usica'/></labels>": "well-formed XML",
    "<labels><label name='word'/><label name='word'/></labels>": "expected every label once",
    "<?xml version='1.0' encoding='no-such'?><labels/>": "well-formed XML",
    "<!DOCTYPE labels SYSTEM 'file:///etc/hostname'><labels/>": "document type declaration",
    "<!DOCTYPE l [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><l>&x;</l>": "document type",
    "<labels>&nbsp;</labels>": "well-formed XML",
}


@pytest.mark.parametrize("xml", DAMAGED_XML)
def test_malformed_or_unsafe_xml_is_refused(write, xml):
    with pytest.raises(DataFormatError) as caught:
        read_mulan(write("toy.arff", ARFF), write("toy.xml", xml))
    assert "toy.xml" in str(caught.value)
    assert DAMAGED_XML[xml] in str(caught.value)


def test_entities_that_grow_without_bound_are_refused_unexpanded(write):
    with pytest.raises(DataFormatError, match="document type declaration"):
        read_mulan(write("toy.arff", ARFF), write("toy.xml", BILLION_LAUGHS))


def test_sparse_row_that_starts_with_a_comma_is_reported_or_skipped(write):
    text = "@relation s\n@attribute w numeric\n@attribute t {0,1}\n@data\n{0 2}\n{,1 1}\n{1 1}\n"
    path = write("slashdot.arff", text)
    with pytest.raises(DataFormatError, match=r"line 6: expected entries 'index value'"):
        read_mulan(path, n_targets=1)
    with pytest.warns(DataFormatWarning, match="skipped 1 malformed line; the first: .*line 6"):
        data = read_mulan(path, n_targets=1, on_error="skip")
    assert (data.n_samples, data.n_skipped) == (2, 1)


def test_identifier_with_a_level_per_row_is_an_ordinary_category(write):
    ids = [f"P{i}" for i in range(50)]
    text = f"@relation g\n@attribute id {{{', '.join(ids)}}}\n@attribute t {{0,1}}\n@data\n"
    data = read_mulan(write("toy.arff", text + "".join(f"{i}, 0\n" for i in ids)), n_targets=1)
    assert data.X["id"].tolist() == ids


def test_rows_and_labels_without_positives_are_kept(write):
    text = "@relation b\n@attribute a real\n@attribute t {0,1}\n@attribute u {0,1}\n@data\n"
    data = read_mulan(write("toy.arff", text + "1,0,0\n2,1,0\n"), n_targets=2)
    np.testing.assert_array_equal(data.Y, [[0, 0], [1, 0]])
