"""The specifications: `lesson_NN/EXERCISE.py` binds `EXERCISE`, and `lesson_NN/__init__.py` lists the lesson's `NAMES`.

What several exercises of a lesson share is in `lesson_NN/shared.py`. The words of a module's mistakes are in Markdown
beside it (`grader.spec.words`).
"""
