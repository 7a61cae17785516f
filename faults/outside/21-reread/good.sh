#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec python3 reread.py data.one plimsoll-fault-a 1073741824
