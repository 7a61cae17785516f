#!/bin/bash
exec java -XX:+UseSerialGC -Xms256m -Xmn100m -Xmx512m -cp /var/tmp/c126/app1 Tally 1
