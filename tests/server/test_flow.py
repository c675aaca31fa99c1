import asyncio

from treedb.server.flow import Flow


class Socket(asyncio.Transport):
    """A transport that only counts."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = 0
        self.resumed = 0

    def pause_reading(self) -> None:
        self.paused += 1

    def resume_reading(self) -> None:
        self.resumed += 1


def test_reading_goes_on_only_when_it_may() -> None:
    socket, may_read = Socket(), [False, True]
    flow = Flow(socket, lambda: may_read.pop(0))
    flow.pause_reading()
    flow.resume_reading()
    assert (flow.read_paused, socket.resumed) == (True, 0)
    flow.resume_reading()
    assert (flow.read_paused, socket.resumed) == (False, 1)


def test_what_is_not_paused_is_not_asked_about() -> None:
    socket = Socket()
    Flow(socket, lambda: False).resume_reading()
    assert socket.resumed == 0


def test_a_pause_is_remembered_until_it_was_asked_about() -> None:
    flow = Flow(Socket(), lambda: True)
    assert not flow.was_held()
    flow.pause_reading()
    flow.resume_reading()
    assert flow.was_held()
    assert not flow.was_held()


def test_a_pause_that_goes_on_is_always_remembered() -> None:
    flow = Flow(Socket(), lambda: True)
    flow.pause_reading()
    assert flow.was_held()
    assert flow.was_held()
