"""Maps of rows into spaces where a linear model is a kernel model."""
