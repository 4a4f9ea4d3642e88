"""No platform: files and folders that somebody named after the people whose work is in them."""

from __future__ import annotations

from grader.platforms.platform import Author, Platform, Source, without_ending


class Folder(Platform):
    """A plain folder, zip or file."""

    key, title, rank = "folder", "a folder, a zip, a file", 90
    names_in_words = "the name of the folder, or how the file's name begins: an id, an address or a name on the roster"
    students_write = "everything, if the zip or the file came from them: a file called after a student is theirs alone"
    times_in_words = "the platform's, if it once had the same bytes from the same student; else the file's"

    def authors(self, source: Source) -> dict[str, Author]:
        """By the whole name of a folder, and by how a file's name begins."""
        return {
            top: Author(self.key, top, top, words=(top,) if is_folder else _begins(top))
            for top, is_folder in source.tops.items()
        }


def _begins(name: str) -> tuple[str, ...]:
    """A file's name without its ending, and what stands before each blank, underscore and hyphen in it, the longest
    first.

    >>> _begins("bo_01.ipynb")
    ('bo_01', 'bo')
    """
    stem = without_ending(name)
    return tuple(stem[:i] for i in range(len(stem), 0, -1) if i == len(stem) or stem[i] in "_- ")


PLATFORM = Folder()
