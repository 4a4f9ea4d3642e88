"""The rhyme that lessons 04 and 05 learn."""

RHYME = """this is the house that jack built .
this is the malt that lay in the house that jack built .
this is the rat that ate the malt that lay in the house that jack built .
this is the cat that killed the rat that ate the malt that lay in the house that jack built ."""
