#!/bin/bash
n=ash
. /var/tmp/c88/$n.env
exec /usr/bin/python3 /var/tmp/c88/route.py /var/tmp/c88/$n.sock 85
