#!/bin/bash
exec /usr/bin/python3 /var/tmp/c112/session-store-sync.py 21122 session:production:
