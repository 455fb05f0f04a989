"""The order of frames and the number of absent ones, from distances between pictures: no Gaussian process here."""
