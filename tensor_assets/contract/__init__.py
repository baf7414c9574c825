"""What a compiler must compute, and whether it did: manifests, oracle, fixtures, admission. NumPy only.

manifest ─► Program ─► fixtures (inputs, reference, proof) ─► admission (verdicts, the boundary that broke)
"""
