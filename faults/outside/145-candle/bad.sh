#!/bin/sh
cd /var/tmp/c145/2 && xargs openssl dgst -sha512 < ../2.list | openssl dgst -sha256
