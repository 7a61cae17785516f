#!/bin/sh
exec php -n /var/tmp/c143/2.php
