"""Moves all times in the database of a Temporal development server into the past: age_temporal.py FILE SECONDS.

The server stores a time as a message of Protocol Buffers whose first field is the seconds, in blobs, and in a few columns as
nanoseconds or as text. A varint of today's seconds and one of some days ago have the same length, so bytes are replaced in place.
"""
import re
import sqlite3
import sys
import time
from datetime import datetime, timedelta

path, by = sys.argv[1], int(sys.argv[2])
now = int(time.time())
first, last = now - 86400, now + 40 * 86400  # what the server can have stored today
seconds = re.compile(rb"\x08([\x80-\xff]{4}[\x01-\x0f])")
days = re.compile(rb"\b20\d\d-\d\d-\d\d(?=[T ]\d\d:\d\d:\d\d)")


def decode(varint):
    return sum((byte & 0x7F) << (7 * n) for n, byte in enumerate(varint))


def encode(value):
    return bytes((value >> (7 * n)) & 0x7F | (0x80 if n < 4 else 0) for n in range(5))


def older(found):
    value = decode(found.group(1))
    return b"\x08" + encode(value - by) if first <= value <= last else found.group(0)


def older_day(found):
    day = datetime.fromisoformat(found.group(0).decode())
    if not first - 86400 <= day.timestamp() <= last:
        return found.group(0)
    return (day - timedelta(seconds=by)).date().isoformat().encode()


def aged(value):
    if isinstance(value, bytes):
        return days.sub(older_day, seconds.sub(older, value))
    if isinstance(value, str):
        return days.sub(older_day, value.encode()).decode()
    if isinstance(value, int):
        for unit in (1, 10**3, 10**6, 10**9):
            if first * unit <= value <= last * unit:
                return value - by * unit
    return value


base = sqlite3.connect(path)
base.text_factory = lambda raw: raw.decode(errors="surrogateescape")
count = {}
for (table,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
    columns = [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]
    try:
        rows = base.execute(f'SELECT rowid, * FROM "{table}"').fetchall()
    except sqlite3.OperationalError:  # a table of a search index, which has no row IDs and no times
        continue
    for row in rows:
        new = [aged(value) for value in row[1:]]
        changed = [(c, n) for c, n, o in zip(columns, new, row[1:]) if n != o]
        if changed:
            count[table] = count.get(table, 0) + 1
            sets = ", ".join(f'"{c}" = ?' for c, _ in changed)
            base.execute(f'UPDATE "{table}" SET {sets} WHERE rowid = ?', [n for _, n in changed] + [row[0]])
base.commit()
print(count)
