"""The losses of rules, for tests."""

from polyleaf.losses import LOSSES, resolve_margin_loss

LABEL_LOSSES = {
    name: resolve_margin_loss(name)
    for name, cls in LOSSES.items()
    if "rules" in cls.learners and "multilabel" in cls.tasks
}
NUMBER_LOSSES = {
    name: cls()
    for name, cls in LOSSES.items()
    if "rules" in cls.learners and "regression" in cls.tasks
}
