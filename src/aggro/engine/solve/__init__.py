"""Solvers of small problems: a quadratic one in a box, in floats and in pairs of them, and a symmetric matrix."""
