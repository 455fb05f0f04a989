"""The jobs: one file each, frozen options and one function that plans the work."""

VERBS = ("restore", "denoise", "fill", "inpaint", "upsample", "reorder", "inspect", "compare")
"""Every verb that works."""
