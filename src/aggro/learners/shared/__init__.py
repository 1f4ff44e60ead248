"""What all families of learners share: learner, model, input, labels, features, one-row calls. Begin with ``learner``."""
