"""Compiler releases: what the package index offers, a candidate's lock beside the accepted one, and which is accepted.

Knows no Dagster. Everything it asks of an index it asks through uv, so it sees what an environment would get.
"""
