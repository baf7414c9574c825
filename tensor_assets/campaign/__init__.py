"""The steps of a cell, in order: fixtures, environment, capture, session, benchmark.

The assets and the command line call the same steps. A step files its record in the store and returns it; when nothing
that shapes the result has changed since the last record of that key, it returns that one instead.
"""
