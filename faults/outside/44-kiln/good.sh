#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec java -XX:+UseSerialGC -Xmx512m Kiln
