"""The claims of all lessons, a file for each lesson."""

from benchmarks.claims_by_lesson import (
    lesson_01,
    lesson_02,
    lesson_03,
    lesson_04,
    lesson_05,
    lesson_06,
    lesson_07,
    lesson_08,
    lesson_09,
    lesson_10,
    lesson_11,
)

CLAIMS = {
    **lesson_01.CLAIMS,
    **lesson_02.CLAIMS,
    **lesson_03.CLAIMS,
    **lesson_04.CLAIMS,
    **lesson_05.CLAIMS,
    **lesson_06.CLAIMS,
    **lesson_07.CLAIMS,
    **lesson_08.CLAIMS,
    **lesson_09.CLAIMS,
    **lesson_10.CLAIMS,
    **lesson_11.CLAIMS,
}
