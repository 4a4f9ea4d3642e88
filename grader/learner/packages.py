"""The packages that the course asks for, as its own metadata has them, and what is wrong with those installed."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import Requirement

from grader.sentences import say

COURSE = "attention-course"


def requirements() -> list[Requirement]:
    """What the base install asks for on this machine."""
    declared = [Requirement(line) for line in metadata.requires(COURSE) or ()]
    return [
        requirement
        for requirement in declared
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]


def problem(requirement: Requirement) -> str:
    """What is wrong with the installed package, in words; empty if nothing is."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return say("{package} is missing", package=requirement.name)
    if requirement.specifier.contains(version, prereleases=True):
        return ""
    return say(
        "{package} is {version}, expected {wanted}",
        package=requirement.name,
        version=version,
        wanted=requirement.specifier,
    )
