#!/bin/bash
for i in 1 2 3; do ip netns exec c125 curl -q -s -K /var/tmp/c125/two.conf https://two.test:21250/pack | wc -c; done
