"""The electroGP on positions of two or three dimensions."""
