"""A client of tmux: what panes its servers have, and what they show.

    from lettafast.tmux.client import Tmux
    from lettafast.tmux.sockets import find_sockets

    panes = [pane for socket in find_sockets() for pane in Tmux(socket).panes()]

It runs the `tmux` that is installed, and no call changes anything in a server.
"""
