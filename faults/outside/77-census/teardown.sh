#!/bin/bash
kill -INT $(cat /var/tmp/c77/pids); sleep 1; rm -rf /var/tmp/c77
