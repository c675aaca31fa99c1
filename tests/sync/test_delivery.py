"""A delivery is encoded once for each way of encoding, however many listeners it has."""

from treedb.paths.path import ROOT
from treedb.sync.delivery import Delivery, Overwrite


def test_each_encoder_is_called_once() -> None:
    delivery = Delivery(ROOT, Overwrite(ROOT, 1), 1)
    calls: list[str] = []

    def realtime(_: Delivery) -> bytes:
        calls.append("realtime")
        return b"r"

    def stream(_: Delivery) -> bytes:
        calls.append("stream")
        return b"s"

    texts = [delivery.encoded(encoder) for encoder in (realtime, stream, realtime, stream)]
    assert texts == [b"r", b"s", b"r", b"s"]
    assert calls == ["realtime", "stream"]


def test_deliveries_are_equal_by_what_they_say_not_by_who_encoded_them() -> None:
    one, other = (Delivery(ROOT, Overwrite(ROOT, 1), 1) for _ in range(2))
    one.encoded(lambda _: b"text")
    assert one == other
