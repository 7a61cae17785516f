#!/bin/bash
exec mariadb --no-defaults -S /var/tmp/c90/my.sock -u root louvre < /var/tmp/c90/q1.sql
