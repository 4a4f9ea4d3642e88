"""What the exercises of lesson 10 share: the lesson's name."""

from __future__ import annotations

LESSON = "10_reading_attention"
