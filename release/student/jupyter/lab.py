"""JupyterLab for somebody who learns alone: `jupyter lab --config=jupyter/lab.py`. It opens the notebooks' folder,
without teachers' tools (page_config.json) and without the question whether to fetch news, and saves the state of views
with the notebook, so that they are alive on the next day (overrides.json)."""

from pathlib import Path

c = get_config()  # noqa: F821

HERE = Path(__file__).resolve().parent

c.ServerApp.root_dir = str(next(folder for folder in HERE.parents if (folder / "notebooks").is_dir()) / "notebooks")
c.LabApp.app_settings_dir = str(HERE)
