"""What is counted beside learning: an observer is handed scores and targets, block by block."""
