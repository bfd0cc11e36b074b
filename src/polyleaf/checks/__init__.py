"""The gate for what enters public functions: matrices, spelling, memory, optional packages."""
