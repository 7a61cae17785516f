#!/bin/sh
exec java -XX:+UseSerialGC -Xmx128m -cp /var/tmp/c135/1 Main 8000000
