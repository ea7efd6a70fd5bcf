"""Plans of new studies.

All raise an `ArgumentError` for an invalid argument or combination of arguments, and an
`AnnotationError` for a pilot whose labels do not suit the plan.
"""
