"""GitHub Classroom: clones or downloads of repositories, called "ASSIGNMENT-ann"."""

from __future__ import annotations

import re
from collections import Counter

from grader.platforms.platform import Author, Platform, Source, splits

DOWNLOADED = re.compile(r"(?P<name>.+)-(?:main|master)(?: \(\d+\))?\.zip")  # one repository, with its branch


class GitHub(Platform):
    """GitHub Classroom."""

    key, title, rank = "github", "GitHub Classroom", 60
    names_in_words = "`01_self_attention-ann/`, where most folders begin with that assignment"
    students_write = "their name on GitHub, when they sign up there; everything in the repository"
    times_in_words = "those of the files, as the clone or download made them"

    def authors(self, source: Source) -> dict[str, Author]:
        """By what follows the assignment, where that is the same in all of a source's folders. Else whoever calls
        themselves "x-ann" on GitHub would be taken for ann."""
        folders = [top for top, is_folder in source.tops.items() if is_folder]
        counts = Counter(
            assignment
            for top in folders
            if not source.knows(top)
            for assignment, rest in splits(top)
            if source.knows(rest)
        )
        likely = max(counts, key=lambda name: (counts[name], -len(name)), default="")
        found = {
            top: Author(self.key, top, top, words=(top, rest))
            for top in folders
            for assignment, rest in splits(top)
            if assignment == likely
        }
        for top in source.tops.keys() - {*folders}:
            if match := DOWNLOADED.fullmatch(top):
                words = (match["name"], *(rest for _assignment, rest in splits(match["name"])))
                found[top] = Author(self.key, top, top, words=words)
        return found


PLATFORM = GitHub()
