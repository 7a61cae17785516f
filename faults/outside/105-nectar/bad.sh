#!/bin/bash
exec setpriv --reuid=64052 --regid=64052 --clear-groups sh -c 'cat /var/tmp/c105/blob /var/tmp/c105/blob /var/tmp/c105/blob | dd bs=64k iflag=fullblock status=none | cat | dd bs=64k iflag=fullblock of=/dev/null status=none'
