"""A client of herdr's socket: what panes there are, what runs in them, what they show.

    from lettafast.herdr.client import Herdr
    from lettafast.herdr.sockets import socket_path

    snapshot = Herdr(socket_path()).snapshot()

`lettafast.herdr.aio` has the same client for asyncio. No call changes anything in
herdr. Nothing is loaded before it is asked for.
"""
