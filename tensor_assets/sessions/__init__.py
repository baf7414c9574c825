"""Sessions: configurations alive on one device, timed in interleaved blocks, with the process as the unit."""
