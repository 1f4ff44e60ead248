"""Online gradient descent in a space of features where a linear model is a kernel model (FOGD, NOGD).

The maps are in ``engine.prepare.feature_maps``, the learner is that of ``learners.linear`` with the step ``ogd``:
these are the two under the names that they were published with. ``estimators`` has the classes users type.
"""

from aggro.learners.feature_maps.estimators import FOGDClassifier, NOGDClassifier

__all__ = ["FOGDClassifier", "NOGDClassifier"]
