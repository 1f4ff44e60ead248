"""The learners: one family, one file. Nothing here imports scikit-learn; the shells do."""
