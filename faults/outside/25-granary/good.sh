#!/bin/sh
cd "$(dirname "$0")" || exit 3
./count-a orders.txt 12
