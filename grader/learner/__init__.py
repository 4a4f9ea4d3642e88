"""A learner's tools: `check`, progress, starter code and solutions, `doctor`."""
