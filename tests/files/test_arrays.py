import numpy as np
import pytest

from polyleaf.files.arrays import expect_offsets

#: The differences of neighbours are positive in 64 bits.
WRAPPING = [0, 1, -(2**63), -1, 2]


@pytest.mark.parametrize("offsets", [[], [0], [1, 2], [0, 3], [0, 2, 1, 2], WRAPPING])
def test_offsets_that_do_not_rise_from_zero_to_the_total_are_refused(offsets):
    n_steps = len(offsets) - 1 if offsets != [0] else 1
    with pytest.raises(ValueError, match="rise from 0 to 2"):
        expect_offsets(np.array(offsets, dtype=np.int64), n_steps, 2, "offsets", least=0)


def test_offsets_that_rise_are_taken():
    expect_offsets(np.array([0, 2, 2]), 2, 2, "offsets", least=0)
