"""Compilers at arm's length: their environments, their processes, what a capture asks of them."""
