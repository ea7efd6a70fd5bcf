"""Planning a study from a pilot: what `dissensus.plan` and `dissensus.plan_reliability` do."""
