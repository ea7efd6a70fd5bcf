"""What `dissensus.plan`, `plan_reliability` and `plan_accuracy` do: studies foreseen."""
