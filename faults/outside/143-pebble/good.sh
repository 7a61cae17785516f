#!/bin/sh
exec php -n /var/tmp/c143/1.php
