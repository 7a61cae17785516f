#!/bin/sh
mkdir -p /var/tmp/c143
cp "$(dirname "$0")"/?.php /var/tmp/c143/
