#!/bin/bash
exec node /var/tmp/c117/report.js /var/tmp/c117/day1.ndjson
