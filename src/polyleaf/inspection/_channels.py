"""Which outputs an explanation is about: names, numbers or groups of outputs, as channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.estimator.wording import channel_names_of, output_names_of
from polyleaf.trees.additive import ChannelChoice


@dataclass(frozen=True, eq=False)
class NamedChannels:
    """The channels of a model, with their names and the outputs they belong to.

    Attributes
    ----------
    names : list of str
        One per channel: the output's name, with the class or the quantile where there are several.
    output_names : list of str
    offsets : ndarray of shape (n_outputs + 1,)
        Output j has the channels from offsets[j] up to offsets[j + 1].
    """

    names: list[str]
    output_names: list[str]
    offsets: NDArray[Any]

    @classmethod
    def of(cls, model: Any, n_channels: int) -> NamedChannels:
        """Name the channels of a fitted model."""
        schema = model._targets
        outputs = output_names_of(model)
        offsets: NDArray[Any] = schema.channel_offsets
        if n_channels != schema.n_channels:  # several quantiles per output
            offsets = np.arange(schema.n_outputs + 1) * (n_channels // schema.n_outputs)
        names = channel_names_of(model, n_channels)
        return cls(names, outputs, offsets)

    def channels_of(self, output: Any) -> list[int]:
        """Find the channels of an output, by its name or number; or the channel of that name."""
        if isinstance(output, str):
            if output in self.output_names:
                number = self.output_names.index(output)
            elif output in self.names:
                return [self.names.index(output)]
            else:
                known = list(dict.fromkeys([*self.output_names, *self.names]))
                raise ValueError(
                    "outputs must be names or numbers of outputs, such as "
                    f"{shown(known[0])}; got {shown(output)}.{did_you_mean(output, known)}"
                )
        elif isinstance(output, int | np.integer) and not isinstance(output, bool):
            number = int(output)
            n_outputs = len(self.output_names)
            if not -n_outputs <= number < n_outputs:
                raise ValueError(
                    f"outputs must be below {n_outputs}, the number of outputs; got {number}."
                )
            number %= n_outputs
        else:
            raise TypeError(
                "outputs must be names or numbers of outputs, or lists of them as groups; got "
                f"{shown(output, 80)}."
            )
        return list(range(int(self.offsets[number]), int(self.offsets[number + 1])))

    def choose(self, outputs: Any) -> tuple[ChannelChoice, list[str], NDArray[np.int64]]:
        """Read what a user asks for.

        Parameters
        ----------
        outputs : None, str, int, sequence of these, of lists of these, or mapping
            A list within the sequence, or a value of the mapping, is a group: the sum of its
            outputs.

        Returns
        -------
        choice : ChannelChoice
        names : list of str
            One per column.
        channels : ndarray of shape (n_columns,), int64
            -1 for a group.
        """
        n_channels = len(self.names)
        if outputs is None:
            channels = np.arange(n_channels)
            choice = ChannelChoice.all_of(n_channels)
            return choice, list(self.names), channels
        groups: list[list[int]] = []
        names: list[str] = []
        for name, wanted in _listed(outputs):
            if isinstance(wanted, str) or not isinstance(wanted, Sequence | np.ndarray):
                for channel in self.channels_of(wanted):
                    groups.append([channel])
                    names.append(self.names[channel])
                continue
            members = [c for output in wanted for c in self.channels_of(output)]
            if not members or len(set(members)) < len(members):
                raise ValueError(
                    f"A group must hold each of its outputs once; got {shown(wanted, 60)}."
                )
            groups.append(members)
            names.append(" + ".join(self.names[c] for c in members) if name is None else name)
        if not groups:
            raise ValueError("outputs must name at least one output; got none.")
        numbers = [group[0] if len(group) == 1 else -1 for group in groups]
        return ChannelChoice.of(groups, n_channels), names, np.array(numbers, dtype=np.int64)


def _listed(outputs: Any) -> list[tuple[str | None, Any]]:
    """Give names of groups and what they hold, or None and an output."""
    if isinstance(outputs, Mapping):
        return [(str(name), list(group)) for name, group in outputs.items()]
    if isinstance(outputs, str) or not isinstance(outputs, Sequence | np.ndarray):
        return [(None, outputs)]
    return [(None, output) for output in outputs]
