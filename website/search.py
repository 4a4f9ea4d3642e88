"""The search in Korean: a word is found whatever particle it has, of which Sphinx knows nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sphinx.search import SearchLanguage

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What a noun of two syllables or more may end in, long ones first.
PARTICLES = (
    "으로부터|에서부터|이라고|에서는|에서도|으로는|으로도|까지는|입니다|이라는|"
    "에서|에게|으로|까지|부터|마다|보다|처럼|이나|이고|라고|라는|에는|에도|로는|"
    "은|는|이|가|을|를|에|의|와|과|도|로|만|나"
)
ENDING = f"^([가-힣]{{2,}}?)(?:{PARTICLES})$"
STEMMER = """
var Stemmer = function () {
  this.stemWord = (word) => word.replace(new RegExp(ENDING), "$1");
};
""".replace("ENDING", json.dumps(ENDING, ensure_ascii=False))


def setup(app: Sphinx) -> dict[str, Any]:
    """Have Sphinx make the index of Korean pages, and the browser ask it, without particles."""
    app.add_search_language(Korean)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Korean(SearchLanguage):
    """Words without their particles.

    >>> [Korean({}).stem(word) for word in ("쿼리와", "어텐션에서는", "크기", "softmax는")]
    ['쿼리', '어텐션', '크기', 'softmax는']
    """

    lang = "ko"
    language_name = "Korean"
    js_stemmer_code = STEMMER

    def stem(self, word: str) -> str:
        """A word without its particle, as the browser's Stemmer makes it."""
        return re.sub(ENDING, r"\1", word.lower())
