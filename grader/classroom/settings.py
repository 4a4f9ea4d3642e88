"""`configure`, where the `nbgrader_config.py` of a course made by an earlier release imports it from."""

from grader.nbgrader_plugins.settings import configure

__all__ = ["configure"]
