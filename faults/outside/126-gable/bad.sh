#!/bin/bash
exec java -Dsite.name=second -Dsite.mode=full -XX:+HeapDumpOnOutOfMemoryError -XX:ErrorFile=/var/tmp/c126/err.log -XX:+UseSerialGC -Xms256m -Xmn100m -Xmx640m -cp /var/tmp/c126/app2 Tally 1
