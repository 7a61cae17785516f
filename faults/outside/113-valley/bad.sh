#!/bin/bash
exec curl -s -f -Z --parallel-immediate -b PHPSESSID=aq3v9d0b2c4e6f8g -o /dev/null "http://127.0.0.1:21132/widget.php?w=[1-4]"
