#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec unshare -n ./work.sh "4096 131072 6291456"
