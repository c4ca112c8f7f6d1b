"""Schedules: the order in which nodes run, how long values live, and where in memory they lie."""

from thixo.schedule.cost import Cost
from thixo.schedule.plan import Plan, Region
from thixo.schedule.scheduled import Schedule, schedule

__all__ = ["Cost", "Plan", "Region", "Schedule", "schedule"]
