"""What changed over time, and who is told: series of records, their steps and drifts, alerts. No Dagster."""
