"""The jobs that are compared, a module for each group. ``cells(plan)`` of each yields what it measured."""
