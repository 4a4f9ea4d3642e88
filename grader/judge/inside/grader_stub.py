"""`grader` in the sandbox. Nothing here checks anything: the judge does, from outside."""


class _Silence:
    """Takes every call and attribute and does nothing: what a notebook does with a report or a view has no effect."""

    passed, score, mark, points, diagnosis, results = False, 0.0, 0.0, 0.0, None, ()

    def __call__(self, *_args: object, **_keywords: object) -> "_Silence":
        return self

    def __getattr__(self, name: str) -> "_Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __repr__(self) -> str:
        return ""


def __getattr__(name: str) -> _Silence:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Silence()
