"""Turn raw cells into rows of numbers: ``encoder`` is the file to open first."""
