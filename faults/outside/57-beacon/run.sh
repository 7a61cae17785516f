#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
