#!/bin/sh
exec java -XX:+UseSerialGC -Xms192m -Xmx192m -cp /var/tmp/c164/1 Main 60
