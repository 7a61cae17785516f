#!/bin/bash
for i in 1 2 3 4; do dd if=/var/tmp/c111/vol2 of=/dev/null bs=1M iflag=direct status=none || exit 1; done
