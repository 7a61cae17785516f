#!/bin/bash
exec ab -q -n 90 -c 3 -C PHPSESSID=u4711abcdef http://127.0.0.1:7474/cart
