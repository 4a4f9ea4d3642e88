# %% prelude
import torch


# %% right: TODO one way
def clip_gradients(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def clip_gradients(x):
    raise NotImplementedError


# %% right: TODO a third way
def clip_gradients(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def clip_gradients(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def clip_gradients(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def clip_gradients(x):
    raise NotImplementedError
