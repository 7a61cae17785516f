#!/bin/bash
exec mariadb --no-defaults -S /var/tmp/c90/my.sock -u root prado < /var/tmp/c90/q2.sql
