"""The losses of rules, for tests."""

from polyleaf.losses import LOSSES

LABEL_LOSSES = {
    name: cls().margin_form()
    for name, cls in LOSSES.items()
    if "rules" in cls.learners and "multilabel" in cls.tasks
}
NUMBER_LOSSES = {
    name: cls()
    for name, cls in LOSSES.items()
    if "rules" in cls.learners and "regression" in cls.tasks
}
