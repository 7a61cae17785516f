#!/bin/sh
cd "$(dirname "$0")" || exit 3
ulimit -n "$(ulimit -Hn)"
exec ./spawner
