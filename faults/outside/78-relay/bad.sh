#!/bin/bash
cd /var/tmp/c78
for i in 1 2 3 4 5 6; do
  ip netns exec c78b curl -s -o /dev/null http://media.origin.test/clip.bin || exit 1
done
