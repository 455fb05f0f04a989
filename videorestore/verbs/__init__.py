"""The jobs: one file each, with one function that plans the work. What they take is declared in `request`."""
