#!/bin/bash
exec setpriv --reuid=64051 --regid=64051 --clear-groups sh -c 'cat /var/tmp/c105/blob /var/tmp/c105/blob /var/tmp/c105/blob | dd bs=64k iflag=fullblock status=none | cat | dd bs=64k iflag=fullblock of=/dev/null status=none'
