"""Learn from a broker: Redis Streams (``aggro[redis]``) and Kafka topics (``aggro[kafka]``), each record once.

``follow`` is the function to call. ``source.py`` says what a broker must be able to do, ``redis_streams.py`` and
``kafka_topics.py`` do it. ``intake.py`` is what becomes of messages, ``follower.py`` the loop of one consumer, and
``team.py`` that of several.
"""

from __future__ import annotations

from aggro.interop.brokers.follow import follow, open_source
from aggro.interop.brokers.follower import Follower
from aggro.interop.brokers.intake import Counts
from aggro.interop.brokers.source import Message, Source, SourceError, Unreachable

__all__ = ["Counts", "Follower", "Message", "Source", "SourceError", "Unreachable", "follow", "open_source"]
