#!/bin/sh
cd "$(dirname "$0")" || exit 3
./count-b orders.txt 12
