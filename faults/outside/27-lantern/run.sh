#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s blob ] || head -c 300000000 /dev/zero > blob || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
