#!/bin/sh
cd "$(dirname "$0")" || exit 3
chmod +x work.sh
exec plimsoll compare --explain ./good.sh ./bad.sh
