#!/bin/bash
exec ab -q -k -n 480 -c 16 http://127.0.0.1:7173/quote/eu
