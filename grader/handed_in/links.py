"""Takes out of submissions what nbgrader's own code would stumble over: links, which it would follow, a time that can't
be read, and folders that can't be a student's.

It looks at a submission's time and copies its other files before any of our code is asked, and it goes on where a hook
of ours fails. So this is done for all submissions before the first of them is graded.
"""

from __future__ import annotations

import os
from typing import Any

from grader.course.class_directory import students_root
from grader.course.files import TIMESTAMP, UntrustedFolder
from grader.course.lateness import timestamp
from grader.printable import printable


def remove_links(layout: Any, assignments: dict[str, list[str]], log: Any) -> None:
    """Take links, and times that can't be read, out of submissions. `layout` is nbgrader's `CourseDirectory`,
    `assignments` has by folder the notebooks that are to be graded; a folder with an odd name, or in which the links
    can't be removed, is taken out of it, and `log` is told."""
    root = students_root(layout, layout.assignment_id)
    for folder, notebooks in list(assignments.items()):
        submission = UntrustedFolder(root, root.joinpath(folder).relative_to(root))
        if not str(submission.path).isprintable():
            why = "since the folder's name can't be a student's name in the gradebook"
            log.error("%s is not graded, %s.", printable(folder), why)
            del assignments[folder]
            continue
        try:
            if submission.remove_link():
                log.warning("%s was a link or was in a linked folder. It has been removed and earns 0 points.", folder)
                submission.make_without([os.path.basename(notebook) for notebook in notebooks])
            submission.remove_irregular()
            if timestamp(submission) is None:
                submission.remove(TIMESTAMP)
        except OSError as error:
            log.error("%s is not graded, since its links can't be removed: %s", folder, error)
            del assignments[folder]
