"""The course in other languages, from the English source: what is to be translated (`texts.py`, which takes Markdown
apart with `units.py`), the catalogues (`catalogue.py`), what an entry may not lose (`faults.py`), and the notebooks and
words that the build makes of it (`built.py`).
"""
