"""Sentences of the article bound to queries over records: what each claims, and whether it still holds.

An author writes `fixtures/claims/*.yaml`. Each claim asks one JMESPath query of a documented view of a configuration's
records (``view.py``) and says what it must answer, where. Nothing here knows Dagster or the site.
"""
