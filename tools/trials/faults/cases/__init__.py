"""All cases; each module declares those of one kind."""

from . import (  # noqa: F401
    answers, attacks, connections, datagrams, decoder, lasting, machine, servers)
