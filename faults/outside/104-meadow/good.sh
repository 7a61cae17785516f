#!/bin/bash
exec curl -s -H 'Accept-Encoding: gzip' -o /dev/null "http://127.0.0.1:21440/list.csv?[1-4]"
