"""Learn from a broker: Redis Streams (``aggro[redis]``) and Kafka topics (``aggro[kafka]``), each record once.

``follow`` is the function to call. ``source.py`` says what a broker must be able to do, ``redis_streams.py`` and
``kafka_topics.py`` do it, and ``follower.py`` is the one loop.
"""

from __future__ import annotations

from aggro.interop.brokers.follow import follow, open_source
from aggro.interop.brokers.follower import Counts, Follower
from aggro.interop.brokers.source import Message, Source, SourceError, Unreachable

__all__ = ["Counts", "Follower", "Message", "Source", "SourceError", "Unreachable", "follow", "open_source"]
