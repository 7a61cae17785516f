#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec /usr/bin/python3 tick.py 0.00014
