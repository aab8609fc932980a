"""All cases; each module declares those of one kind."""

from . import attacks, connections, datagrams, machine, servers  # noqa: F401
