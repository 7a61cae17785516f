#!/bin/bash
mariadb --no-defaults -u root -S /var/tmp/c132/2/sock plan < /var/tmp/c132/month.sql | tail -n 1
