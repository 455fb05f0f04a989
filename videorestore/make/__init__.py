"""One piece done: read, mended, denoised, with new frames between."""
