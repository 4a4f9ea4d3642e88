"""Lesson 10, reading and debugging attention: patterns, rollout, and eight broken attention functions to diagnose."""

LESSON = "10_reading_attention"
NAMES = (
    "first_token_pattern",
    "local_pattern",
    "classify_pattern",
    "attention_rollout",
    "bug_hunt",
    "quiz_10",
)
