import math
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
