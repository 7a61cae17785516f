#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec python3 book.py a.db night
