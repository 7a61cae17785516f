#!/bin/sh
exec redis-cli -s /var/tmp/c169/1/sock --pipe < /var/tmp/c169/1/feed
