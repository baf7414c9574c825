"""Lexers for the languages that compilers print and Pygments does not know."""
