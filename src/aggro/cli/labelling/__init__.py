"""The parts of ``aggro label``.

``journal`` is what the person said, ``rows`` the data, ``session`` the model that follows from both, and ``run`` how a
session begins or is taken up again; ``estimate`` is what there is to say about the model, ``screen`` and ``answers``
how it asks and is answered.
"""
