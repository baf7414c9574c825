"""A cell as one standalone script: the compiler and NumPy, its inputs, what they must give, and what was seen."""
