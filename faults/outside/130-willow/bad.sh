#!/bin/bash
PHP_INI_SCAN_DIR= exec php8.2 -c /var/tmp/c130/second.ini /var/tmp/c130/shop/main.php
