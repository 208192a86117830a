"""Models over HTTP, as ``cotm serve`` does: ``docs/serving.md`` says what may be relied on.

``settings`` are what a server is told, ``server`` starts it and its workers, ``protocol`` is
HTTP with limits, ``app`` the routes, ``guards`` who may ask and how much, ``handling`` a
request from body to answer. ``registry`` has the models and reads changed files anew,
``served`` is one of them, ``reading`` and ``arrow`` make of bodies what it reads, ``batching``
asks it about rows of several requests at once. ``metrics``, ``openapi`` and ``page`` tell of it.
"""
