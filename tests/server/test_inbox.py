import asyncio

from treedb.server.inbox import Inbox


async def test_messages_come_out_in_order() -> None:
    inbox = Inbox()
    inbox.put(["a", "bc"])
    inbox.put(["d"])
    assert inbox.size_chars == 4
    assert [await inbox.next() for _ in range(3)] == ["a", "bc", "d"]
    assert inbox.size_chars == 0


async def test_who_takes_waits_for_a_message() -> None:
    inbox = Inbox()
    taking = asyncio.create_task(inbox.next())
    await asyncio.sleep(0)
    assert not taking.done()
    inbox.put([])
    await asyncio.sleep(0)
    assert not taking.done()
    inbox.put(["a"])
    assert await taking == "a"


async def test_what_waits_at_the_end_is_still_taken() -> None:
    inbox = Inbox()
    inbox.put(["a"])
    inbox.end()
    assert [await inbox.next(), await inbox.next(), await inbox.next()] == ["a", None, None]


async def test_the_end_wakes_who_takes() -> None:
    inbox = Inbox()
    taking = asyncio.create_task(inbox.next())
    await asyncio.sleep(0)
    inbox.end()
    assert await taking is None
