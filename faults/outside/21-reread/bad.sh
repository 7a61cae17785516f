#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec python3 reread.py data.two plimsoll-fault-b 41943040
