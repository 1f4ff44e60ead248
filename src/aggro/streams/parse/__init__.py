"""Compiled parsers: lines of bytes in, numbers out."""
