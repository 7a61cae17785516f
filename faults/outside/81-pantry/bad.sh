#!/bin/bash
exec /usr/bin/python3 /var/tmp/c81/page.py 8112 16000
