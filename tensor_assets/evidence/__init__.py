"""The evidence room: an immutable, verifiable store of files and records, and the only doors out of it."""
