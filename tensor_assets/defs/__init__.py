"""The asset graph: one module per group, nothing but assets, checks, jobs. The work is done in the rooms they call."""
