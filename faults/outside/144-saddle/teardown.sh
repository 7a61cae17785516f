#!/bin/sh
for k in 1 2; do ip netns del c144-$k 2>/dev/null; done
rm -rf /var/tmp/c144
