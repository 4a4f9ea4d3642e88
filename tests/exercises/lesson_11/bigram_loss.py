# %% prelude
import torch


# %% right: TODO one way
def bigram_loss(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def bigram_loss(x):
    raise NotImplementedError


# %% right: TODO a third way
def bigram_loss(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def bigram_loss(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def bigram_loss(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def bigram_loss(x):
    raise NotImplementedError
