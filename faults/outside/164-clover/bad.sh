#!/bin/sh
exec java -XX:+UseSerialGC -Xms192m -Xmx192m -cp /var/tmp/c164/2 Main 60
