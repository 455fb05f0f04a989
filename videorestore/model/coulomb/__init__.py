"""The Coulomb process: density, gradient, constants, samplers, in one dimension and on spheres."""
