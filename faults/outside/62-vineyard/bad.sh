#!/bin/sh
cd "$(dirname "$0")" || exit 3
cd work/of/the/spring/team/in/the/attic/second-checkout && make -s clean && make -s && make -s clean
