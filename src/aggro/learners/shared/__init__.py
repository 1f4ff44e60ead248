"""What all learners share: learner, model, input, labels, features, one-row calls. Begin with ``learner``."""
