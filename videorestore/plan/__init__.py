"""What is known of a clip before any work, and what is to be done with it: looking, deciding, dividing."""
