#!/bin/bash
ab -q -n 60 -c 8 http://127.0.0.1:21212/cgi/quote | grep -E 'Complete|Failed'
