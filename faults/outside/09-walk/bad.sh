#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec strace -f -o /dev/null -e trace=execve python3 walk.py
