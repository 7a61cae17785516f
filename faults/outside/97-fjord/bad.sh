#!/bin/bash
exec sqlite3 -readonly /var/tmp/c97/desk2.db ".read /var/tmp/c97/report.sql" >/dev/null
