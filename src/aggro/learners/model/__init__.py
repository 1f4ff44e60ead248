"""A trained model: its state, labels and features, and the locks around them. Begin with ``model``."""
