"""What the exercises of lesson 02 share: the lesson's name."""

from __future__ import annotations
