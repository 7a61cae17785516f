#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec unshare -m sh -c "mount --bind hosts.one /etc/hosts && exec python3 ask.py"
