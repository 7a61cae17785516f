#!/bin/sh
exec redis-cli -s /var/tmp/c169/2/sock --pipe < /var/tmp/c169/2/feed
