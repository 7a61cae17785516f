#!/bin/bash
exec java -Xshare:auto -XX:+UseSerialGC -Xmx256m -Didle=2 -Dlog=true -Dsocks=1 -jar /var/tmp/c99/app/calc.jar >/dev/null
