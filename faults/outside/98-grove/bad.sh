#!/bin/bash
exec /usr/bin/python3 /var/tmp/c98/r2/main.py
