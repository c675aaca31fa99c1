"""Settings and limits: every number of the house in one table, each with its reason."""

from dataclasses import dataclass, field
from pathlib import Path as FilePath

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest things treedb takes. Sources: Firebase's "Realtime Database Limits" page (F),
    the fault model's measurements (M), our own judgement (T).
    """

    depth: int = 32  # F: levels below the root
    key_bytes: int = 768  # F: UTF-8 bytes of one key
    string_bytes: int = 10 * MIB  # F: UTF-8 bytes of one string value
    rest_write_bytes: int = 256 * MIB  # F: one REST body
    realtime_write_bytes: int = 16 * MIB  # F: one realtime message
    answer_bytes: int = 256 * MIB  # F: one answer
    query_results: int = 100_000  # T: children in the answer to one query
    nodes_per_write: int = 5_000_000  # T: bounds the time one write may hold the writer
    paths_per_update: int = 100_000  # T: likewise, for PATCH and merge
    patch_operations: int = 10_000  # T: likewise, of a JSON Patch; each may ask the rules
    patch_items: int = 10_000  # T: of an array that a JSON Patch looks into, whose keys it reads
    node_write_ns: int = 4_000  # M: writing takes 1.3 to 3.4 us a node; for `writeSizeLimit`
    byte_write_ns: int = 20  # M: likewise 8 to 18 ns a byte, where texts are long
    read_timeout_ms: int = 15 * 60_000  # F: one read over REST, and the longest `timeout` of one
    url_bytes: int = 32 * KIB  # T: 32 keys of 768 bytes fit unless all of them are escaped
    frame_bytes: int = 1 * MIB  # M: one websocket frame; SDKs cut at 16 KiB
    segments: int = 1_100  # F: pieces of one message, 16 MiB at 16 KiB each
    poll_segments: int = 12_500  # F: likewise by long polling, 16 MiB at 1,840 characters of base64
    poll_segments_ahead: int = 1_000  # T: that came before one in front of them; a call brings 30
    outbox_bytes: int = 4 * MIB  # T: unsent bytes of one connection before its listens start anew
    ranges: int = 10_000  # T: whose hashes come with a listen; 256 MiB make 1,640
    requests_in_flight: int = 1_000  # T: unanswered writes of one connection before reading pauses
    bytes_in_flight: int = 64 * MIB  # T: likewise in bytes, so that large writes count
    listens_per_connection: int = 10_000  # T
    on_disconnects_per_connection: int = 1_000  # T: places; each costs one asking of the rules
    on_disconnect_bytes: int = 1 * MIB  # T: all of one connection, kept anew with each request
    connections: int = 50_000  # T
    namespaces: int = 64  # T: environments open at once, each takes address space
    write_batch: int = 256  # M: larger group commits gain under 10 %
    journal_entries: int = 100_000  # T: commits a follower may be behind
    journal_bytes: int = 256 * MIB  # T
    journal_age_ms: int = 7 * 24 * 3600 * 1000  # T
    row_bytes: int = 1900  # M: docs/benchmarks.md; larger ones get LMDB pages of their own
    slice_rows: int = 500  # M: rows read before the event loop gets its turn, about 1 ms
    rules_bytes: int = 256 * KIB  # F: one rules file
    rules_nodes: int = 20_000  # T: nodes of one rules file
    rules_depth: int = 100  # T: nested objects in a rules file; data ends at `depth`
    rules_indexes: int = 100  # T: names in one .indexOn; each makes every write below it dearer
    fan_out: int = 100_000  # T: places one write may change through mirrors
    rules_mirrors: int = 200  # T: each is held against every other
    rules_findings: int = 20  # T: mistakes of a rules file told at once
    rules_steps: int = 1_000_000  # M: work on rules for one operation, about 0.2 s at 0.2 us each
    expression_chars: int = 16 * KIB  # T: one rule
    expression_nodes: int = 2_000  # T: parts of one rule
    expression_depth: int = 100  # T: keeps every walk of an expression within Python's stack
    regex_chars: int = 1_000  # T: one regular expression
    regex_memory_bytes: int = 2 * MIB  # T: what RE2 may use for one regular expression
    map_bytes: int = 1 * TIB  # M: so large that it never matters; files stay sparse
    reads_at_once: int = 1_000  # T: of one namespace, others wait; well below `readers`
    ready_bytes: int = 8 * MIB  # T: longer JSON text of a place is sent while it is read
    long_reads_at_once: int = 100  # T: such reads of one namespace; each holds about 1 MiB
    long_read_timeout_ms: int = 120_000  # M: files grow by 16 KiB a commit under an open snapshot
    readers: int = 4096  # M: reader slots, fixed by whoever opens the environment first
    header_bytes: int = 64 * KIB  # T: all headers of one HTTP request
    headers: int = 100  # T: of one HTTP request; browsers behind a proxy send about 30
    pings_per_second: int = 100  # T: websocket pings of one peer; SDKs send one in 45 s
    header_timeout_ms: int = 10_000  # T: to send a request's head, and to begin at all
    body_timeout_ms: int = 20_000  # T: after each such time a body has to have gone on
    bytes_per_second: int = 500  # T: of a body, either way; less is no network but an attack
    idle_timeout_ms: int = 30_000  # T: between two requests of one connection
    ping_interval_ms: int = 45_000  # F: SDKs are silent that long; proxies cut at 60 s
    ping_timeout_ms: int = 25_000  # F: a dead peer is found within 70 s
    close_timeout_ms: int = 10_000  # T: for the peer's half of the closing handshake
    message_timeout_ms: int = 60_000  # T: between the segments of one message
    poll_hold_ms: int = 25_000  # F: a call waits for something to say; proxies cut at 30 s
    poll_timeout_ms: int = 45_000  # F: without a call; with one held, a dead peer is found in 70 s
    stall_timeout_ms: int = 30_000  # T: a peer that reads nothing for so long is closed


DEFAULT_LIMITS = Limits()


def _setting(takes: str, about: str) -> dict[str, str]:
    """Describe a setting: the kind of value it takes, and what it is about."""
    return {"takes": takes, "about": about}


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator chooses. Every field is a command line option, an environment variable
    TREEDB_<NAME> and a key of treedb.toml; `treedb.cli.settings` reads them by this table.
    """

    host: str = field(
        default="127.0.0.1",
        metadata=_setting(
            "address", "The address to listen on. With `dev` it must be a loopback address."
        ),
    )
    port: int = field(
        default=9000,
        metadata=_setting("port", "The port to listen on; 0 takes a free one."),
    )
    data: FilePath = field(
        default=FilePath("treedb-data"),
        metadata=_setting(
            "folder", "The folder that keeps the data, with one folder in it for each namespace."
        ),
    )
    dev: bool = field(
        default=False,
        metadata=_setting(
            "switch",
            "Development mode: without rules everybody may read and write everything, the "
            "credentials of the Firebase emulator are honoured, and a denial tells why.",
        ),
    )
    rules: FilePath | None = field(
        default=None,
        metadata=_setting(
            "file",
            "A file of security rules. It is checked at the start and followed: an edit is "
            "applied when it is valid. Without it, and without rules put by an administrator, "
            "nobody but an administrator may read or write; with `dev` everybody may.",
        ),
    )
    mirror_backfill: str | None = field(
        default=None,
        metadata=_setting(
            "side",
            "Which side of a mirror is right where the file of rules brings one over data that "
            "disagrees: the data is then brought to agree. Without it such rules are refused.",
        ),
    )
    recheck_listens: bool = field(
        default=True,
        metadata=_setting(
            "switch",
            "Ask the rules about a listener again when data that its rule reads changes.",
        ),
    )
    admin_token: str | None = field(
        default=None,
        metadata=_setting(
            "secret",
            "The bearer of this token is an administrator. Without it one is made at the first "
            "start and kept in the data folder, in `admin.token`.",
        ),
    )
    auth_secret: str | None = field(
        default=None,
        metadata=_setting(
            "secret", "The secret that client tokens are signed with (HS256), 32 bytes or more."
        ),
    )
    auth_audience: str | None = field(
        default=None,
        metadata=_setting("text", "The audience (`aud`) that client tokens must be made for."),
    )
    auth_issuer: str | None = field(
        default=None,
        metadata=_setting("text", "The issuer (`iss`) that client tokens must come from."),
    )
    allowed_hosts: tuple[str, ...] = field(
        default=(),
        metadata=_setting(
            "hosts",
            "The names, beside local ones, that the server is asked for by, such as "
            "`db.example.org`, `*.example.org`, or `*` for any. Requests for others are refused.",
        ),
    )
    allowed_origins: tuple[str, ...] = field(
        default=(),
        metadata=_setting(
            "origins",
            "The origins, beside the server's own, whose pages may talk to the server, such as "
            "`https://app.example.org`, or `*` for any. With `dev` and none listed any may.",
        ),
    )
    static: FilePath | None = field(
        default=None,
        metadata=_setting(
            "folder", "A folder whose files are served at /, such as a web application's."
        ),
    )
    jsonp: bool = field(
        default=False,
        metadata=_setting(
            "switch",
            "Answer reads that name a `callback` with JavaScript that calls it (JSONP), for pages "
            "that cannot use CORS.",
        ),
    )
    unsafe_no_fsync: bool = field(
        default=False,
        metadata=_setting(
            "switch",
            "Answer writes before they are flushed to the disk: faster, and a power cut can lose "
            "what was acknowledged or break the files.",
        ),
    )
