#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec perl rpc.pl 1
