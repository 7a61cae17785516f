#!/bin/bash
exec scp -q -F /var/tmp/c114/ssh_b /var/tmp/c114/data 127.0.0.1:/var/tmp/c114/in/
