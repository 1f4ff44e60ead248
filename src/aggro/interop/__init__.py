"""Other libraries' manners around the learners."""
