"""Tables: CSV, JSON Lines, Parquet and Arrow, and their columns as rows that a learner takes."""
