#!/bin/sh
set -e
cd "$(dirname "$0")"; rm -rf /var/tmp/c165; mkdir -p /var/tmp/c165; chmod 755 /var/tmp/c165
python3 gen.py /var/tmp/c165
