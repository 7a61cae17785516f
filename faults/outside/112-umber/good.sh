#!/bin/bash
exec /usr/bin/python3 /var/tmp/c112/client.py 21121 k:
