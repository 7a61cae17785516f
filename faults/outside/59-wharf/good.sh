#!/bin/sh
cd "$(dirname "$0")" || exit 3
zstd -q -11 -T1 -c in.tar > /dev/null
