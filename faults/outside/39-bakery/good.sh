#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec ./work.sh a.conf
