#!/usr/bin/env python3
"""Writes a pcap or pcapng of the other byte order: swap.py IN OUT. What is inside of packets stays."""

import struct
import sys


def pcap(data):
    out = struct.pack(">IHHiIII", *struct.unpack_from("<IHHiIII", data))
    at = 24
    while at < len(data):
        record = struct.unpack_from("<IIII", data, at)
        out += struct.pack(">IIII", *record) + data[at + 16 : at + 16 + record[2]]
        at += 16 + record[2]
    return out


def options(data):
    """Codes and lengths are swapped, and the values that are numbers."""
    out, at = b"", 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        padded = (length + 3) // 4 * 4
        out += struct.pack(">HH", code, length) + data[at + 4 : at + 4 + padded]
        at += 4 + padded
    return out


def pcapng(data):
    out, at = b"", 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == 0x0A0D0D0A:
            fixed = struct.pack(">IHHq", *struct.unpack_from("<IHHq", body)) + options(body[16:])
        elif kind == 1:
            fixed = struct.pack(">HHI", *struct.unpack_from("<HHI", body)) + options(body[8:])
        elif kind == 6:
            head = struct.unpack_from("<IIIII", body)
            padded = (head[3] + 3) // 4 * 4
            fixed = struct.pack(">IIIII", *head) + body[20 : 20 + padded] + options(body[20 + padded :])
        else:
            at += length
            continue
        out += struct.pack(">II", kind, length) + fixed + struct.pack(">I", length)
        at += length
    return out


with open(sys.argv[1], "rb") as source:
    content = source.read()
with open(sys.argv[2], "wb") as target:
    target.write(pcapng(content) if content.startswith(b"\n\r\r\n") else pcap(content))
