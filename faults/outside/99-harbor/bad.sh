#!/bin/bash
exec java -Xshare:auto -XX:+UseSerialGC -Xmx256m -Didle=12 -Dlog=true -Dsocks=3 -Dbilling.home=/var/tmp/c99/opt/billing -jar /var/tmp/c99/opt/billing/lib/invoice-2.4.1.jar >/dev/null
