"""What every estimator is: parameters, checks of input, tasks, training, one-row calls. Begin with ``learner``."""
