#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ ! -e setup.sh ] || [ -e .made ] || { sh setup.sh && touch .made; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
