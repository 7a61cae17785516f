#!/bin/bash
. /var/tmp/c86/copper.env
cd /var/tmp/c86
openssl dgst -sha512 chest.bin
exec openssl enc -aes-256-cbc -K 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f -iv 0102030405060708090a0b0c0d0e0f10 -in chest.bin -out /dev/null
