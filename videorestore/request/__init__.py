"""What may be asked: options, their notation, names of files. Standard library only."""
