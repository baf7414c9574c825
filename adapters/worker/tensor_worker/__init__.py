"""The worker kit: what every compiler's worker process shares. Knows no compiler and no Dagster."""
