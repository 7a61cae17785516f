#!/bin/bash
gzip -dc /var/tmp/c131/web1.log.gz | wc -l
