#!/bin/bash
umount /var/tmp/c82/east; umount /var/tmp/c82/west; rm -rf /var/tmp/c82
