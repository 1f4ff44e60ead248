"""HTTP for the models: ``operations.py`` lists every path, ``app.py`` puts them together, ``server.py`` runs them."""
