"""The tables and figures of the papers, measured again; one script per paper."""
