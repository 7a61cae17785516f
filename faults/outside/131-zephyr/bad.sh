#!/bin/bash
gzip -dc /var/tmp/c131/web2.log.gz | wc -l
