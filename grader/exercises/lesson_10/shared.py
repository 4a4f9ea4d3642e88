"""What the exercises of lesson 10 share."""

from __future__ import annotations

LESSON = "10_reading_attention"
