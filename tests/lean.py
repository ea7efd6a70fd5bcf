"""What an evaluation leaves out where a test is not about it: fits of models besides its own."""

LEAN = {"truth_model": None, "ground_truth": None, "components": None}
