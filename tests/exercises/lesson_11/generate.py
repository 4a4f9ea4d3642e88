# %% prelude
import torch


# %% right: TODO one way
def generate(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def generate(x):
    raise NotImplementedError


# %% right: TODO a third way
def generate(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def generate(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def generate(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def generate(x):
    raise NotImplementedError
