#!/bin/sh
exec mariadb -u root -S /var/tmp/c142/s -e "source /var/tmp/c142/2.sql"
