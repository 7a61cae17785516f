#!/bin/sh
exec /var/tmp/c178/relief /var/tmp/c178/2.conf
