"""What the families stand on: learner, model, input, labels, features, one-row calls. Begin with ``learner``."""
