#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec java -XX:+UseSerialGC -Xms128m -Xmx256m -cp app Sort
