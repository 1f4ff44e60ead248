"""The learners: a folder for each family, over ``shared``. Nothing here imports scikit-learn; the shells do."""
