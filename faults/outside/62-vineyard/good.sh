#!/bin/sh
cd "$(dirname "$0")" || exit 3
cd src && make -s clean && make -s && make -s clean
