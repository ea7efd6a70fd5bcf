"""Plans of new studies.

All functions raise an `ArgumentError` for an invalid argument or combination of arguments, and an
`AnnotationError` for a pilot study whose labels are not suitable for the plan.
"""
