"""Notebooks of one size and, where that is wanted, of one CRC-32: both can be had by whoever likes to."""

from __future__ import annotations

import zlib

SIZE, FREE = 20_000, 64  # bytes; so many blanks or tabs at the end are free


def sized(notebook: bytes, crc: int | None = None) -> bytes:
    """The notebook with blanks behind it, so that it has `SIZE` bytes; with `crc`, this CRC-32 too."""
    padded = notebook.ljust(SIZE - FREE)
    assert len(padded) == SIZE - FREE
    if crc is None:
        return padded + b" " * FREE
    plain = padded + b" " * FREE
    wanted = zlib.crc32(plain) ^ crc
    # CRC-32 is linear: each tab in place of a blank flips the same bits whatever else is there.
    rows = []
    for at in range(FREE):
        tabbed = bytearray(plain)
        tabbed[SIZE - FREE + at] = 9
        rows.append((zlib.crc32(plain) ^ zlib.crc32(bytes(tabbed)), 1 << at))
    for bit in range(32):
        pivot = next(i for i in range(bit, len(rows)) if rows[i][0] >> bit & 1)
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        first = rows[bit]
        rows = [
            (value ^ first[0], tabs ^ first[1]) if i != bit and value >> bit & 1 else (value, tabs)
            for i, (value, tabs) in enumerate(rows)
        ]
    tabs = 0
    for bit in range(32):
        tabs ^= rows[bit][1] if wanted >> bit & 1 else 0
    made = bytearray(plain)
    for at in range(FREE):
        if tabs >> at & 1:
            made[SIZE - FREE + at] = 9
    assert zlib.crc32(bytes(made)) == crc
    return bytes(made)
