#!/bin/sh
exec java -XX:+UseSerialGC -Xmx128m -cp /var/tmp/c135/2 Main 8000000
