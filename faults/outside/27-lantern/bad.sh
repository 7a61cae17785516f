#!/bin/sh
cd "$(dirname "$0")" || exit 3
OPENSSL_ia32cap='~0x200000000000000'; export OPENSSL_ia32cap
exec openssl enc -aes-256-cbc -K 000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f -iv 0102030405060708090a0b0c0d0e0f10 -in blob -out /dev/null
