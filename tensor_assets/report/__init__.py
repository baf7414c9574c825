"""Records in, readable results out: tidy tables, charts, pages, the built site. Reads the store, never writes to it."""
