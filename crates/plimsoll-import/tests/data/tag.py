#!/usr/bin/env python3
"""Writes a little-endian Ethernet pcap with two VLAN tags in every frame: tag.py IN OUT."""

import struct
import sys

with open(sys.argv[1], "rb") as source:
    data = source.read()
out, at = data[:24], 24
while at < len(data):
    seconds, fraction, kept, length = struct.unpack_from("<IIII", data, at)
    frame = data[at + 16 : at + 16 + kept]
    tagged = frame[:12] + bytes.fromhex("88a8000a 81000007".replace(" ", "")) + frame[12:]
    out += struct.pack("<IIII", seconds, fraction, kept + 8, length + 8) + tagged
    at += 16 + kept
with open(sys.argv[2], "wb") as target:
    target.write(out)
