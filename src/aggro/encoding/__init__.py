"""Raw cells to rows of numbers: ``encoder`` is the file to open first."""
