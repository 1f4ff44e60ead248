"""What of Numba is private: the names and classes that a new version may change."""
