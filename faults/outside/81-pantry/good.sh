#!/bin/bash
exec /usr/bin/python3 /var/tmp/c81/page.py 8111 16000
