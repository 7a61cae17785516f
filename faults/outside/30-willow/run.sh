#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s routes.txt ] || for i in $(seq 0 2999); do echo "route add 10.$((i/250)).$((i%250)).0/24 dev lo"; done > routes.txt
exec plimsoll compare --explain ./good.sh ./bad.sh
