#!/bin/bash
umount /var/tmp/c92/rye; umount /var/tmp/c92/oat; rm -rf /var/tmp/c92
