#!/bin/sh
cd "$(dirname "$0")" || exit 3
. ./first.env
exec gcc -O1 -o /dev/null -c main.c
