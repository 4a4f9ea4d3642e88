# %% prelude
import torch


# %% right: TODO one way
def next_token_probabilities(x):
    raise NotImplementedError


# %% right: TODO another way, as another student would write it
def next_token_probabilities(x):
    raise NotImplementedError


# %% right: TODO a third way
def next_token_probabilities(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO one wording of the mistake
def next_token_probabilities(x):
    raise NotImplementedError


# %% wrong returns-its-input: TODO another wording
def next_token_probabilities(x):
    raise NotImplementedError


# %% wrong -: TODO a mistake that the specification does not list
def next_token_probabilities(x):
    raise NotImplementedError
