#!/bin/sh
cd /var/tmp/c145/1 && xargs openssl dgst -sha512 < ../1.list | openssl dgst -sha256
