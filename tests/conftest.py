"""Settings for all tests."""

from hypothesis import settings

# A deadline per example would fail on a busy machine.
settings.register_profile("polyleaf", deadline=None)
settings.load_profile("polyleaf")
