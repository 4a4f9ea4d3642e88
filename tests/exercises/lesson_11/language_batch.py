# %% prelude
import torch


# %% right: TODO one way
def language_batch(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def language_batch(x):
    raise NotImplementedError


# %% right: TODO a third way
def language_batch(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def language_batch(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def language_batch(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def language_batch(x):
    raise NotImplementedError
