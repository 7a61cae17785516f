#!/bin/bash
kill -INT $(cat /var/tmp/c70/pids); sleep 1; rm -rf /var/tmp/c70
