import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
