"""Train, tune, evaluate and predict on a Dask cluster. Open ``training`` first."""

from aggro.distributed.executors import ClusterLost
from aggro.distributed.predicting import evaluate, predict
from aggro.distributed.sweeping import Sweep, Trial, grid, sweep
from aggro.distributed.training import Progress, fit
from aggro.mixing import merge

__all__ = ["ClusterLost", "Progress", "Sweep", "Trial", "evaluate", "fit", "grid", "merge", "predict", "sweep"]
