"""The joint mode of positions and hyper-parameters, from Gram matrices alone."""
