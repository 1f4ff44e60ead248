"""Bytes: files and where they are, what they are packed in, downloads, lines, reading ahead."""
