#!/bin/bash
set -e
D=/var/tmp/c86; rm -rf $D; mkdir -p $D; cd $D
head -c 120000000 /dev/zero | openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff -iv 00000000000000000000000000000001 -out chest.bin
printf 'export LANG=C\nexport RANDFILE=/dev/urandom\n' > brass.env
printf 'export LANG=C\nexport RANDFILE=/dev/urandom\nexport OPENSSL_ia32cap=~0x200000200000000\n' > copper.env
