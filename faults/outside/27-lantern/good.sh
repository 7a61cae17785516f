#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec openssl enc -aes-256-cbc -K 000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f -iv 0102030405060708090a0b0c0d0e0f10 -in blob -out /dev/null
