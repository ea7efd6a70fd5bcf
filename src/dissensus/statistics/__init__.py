"""Statistics: functions of the observed annotations, each taking weights over items.

The room is ready, the furniture comes with the agreement statistics: nothing here yet.
"""
