#!/bin/sh
cd "$(dirname "$0")" || exit 3
ulimit -n 1024
exec ./spawner
