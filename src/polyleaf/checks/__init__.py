"""The gate for what enters public functions: spelling, memory, optional packages."""
