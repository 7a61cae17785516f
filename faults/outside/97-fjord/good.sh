#!/bin/bash
exec sqlite3 -readonly /var/tmp/c97/desk1.db ".read /var/tmp/c97/report.sql" >/dev/null
