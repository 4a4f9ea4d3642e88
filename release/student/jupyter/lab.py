"""JupyterLab for somebody who learns alone: `jupyter lab --config=jupyter/lab.py`. It opens lesson 00 in the learner's
folder, without teachers' tools (page_config.json) and without the question whether to fetch news, and saves the state
of views with the notebook, so that they are alive on the next day (overrides.json).

That folder is the package's `notebooks/`. In the repository, whose `notebooks/` are built, it is one with copies."""

import json
import sys
from pathlib import Path

c = get_config()  # noqa: F821

HERE = Path(__file__).resolve().parent
COURSE = next(folder for folder in HERE.parents if (folder / "notebooks").is_dir())
FOLDER = COURSE / "notebooks"
if (COURSE / "lessons").is_dir():  # the repository
    sys.path.insert(0, str(COURSE))
    from tools.my_course import folder_of, lay

    sys.path.remove(str(COURSE))
    FOLDER = folder_of(COURSE)
    for sentence in lay(COURSE / "notebooks", FOLDER):
        print(sentence, flush=True)

c.ServerApp.root_dir = str(FOLDER)
c.LabApp.app_settings_dir = str(HERE)
c.JupyterNotebookApp.app_settings_dir = str(HERE)  # behind JupyterLab's button "Notebook"
c.LabApp.default_url = "/lab/tree/00_start_here.ipynb"
c.LanguageServerManager.autodetect = False  # the log would list nineteen that aren't there


def hide_in_notebook(_handler: object, page: dict) -> dict:
    """Notebook 7 reads overrides.json there, but not page_config.json."""
    hidden = json.loads((HERE / "page_config.json").read_text("utf-8"))["disabledExtensions"]
    return {**page, "disabledExtensions": [*dict.fromkeys([*page.get("disabledExtensions", []), *hidden])]}


c.ServerApp.tornado_settings = {"page_config_hook": hide_in_notebook}
