"""Plot learning curves, weights and confusion matrices with matplotlib.

Each function draws into one matplotlib Axes, its own or the one given as ``ax=``, and returns it. matplotlib is an
extra (``pip install 'aggro[plot]'``), and is imported when something is drawn.
"""

from aggro.plot.confusion_matrix import confusion
from aggro.plot.error_curves import curves
from aggro.plot.largest_weights import weights
from aggro.plot.progress import history

__all__ = ["confusion", "curves", "history", "weights"]
