"""The parts of ``aggro label``.

``journal`` is what the person said, ``walk`` the rows, ``session`` the model that follows from both; ``reasons`` and
``gain`` are what there is to say about a question, ``keys`` and ``screen`` how it is asked and answered.
"""
