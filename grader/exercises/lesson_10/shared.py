"""What the exercises of lesson 10 share: the lesson's name."""

from __future__ import annotations
