# %% prelude
import torch


# %% right: TODO one way
def generate_with_cache(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def generate_with_cache(x):
    raise NotImplementedError


# %% right: TODO a third way
def generate_with_cache(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def generate_with_cache(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def generate_with_cache(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def generate_with_cache(x):
    raise NotImplementedError
