#!/bin/bash
ip netns exec c122a ab -q -k -n 30000 -c 8 http://127.0.0.1:21220/page.html | grep -E 'Complete|Failed'
