#!/bin/bash
umount /var/tmp/c72/one; umount /var/tmp/c72/two; rm -rf /var/tmp/c72
