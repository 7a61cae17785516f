#!/bin/bash
for i in $(seq 60); do find /var/tmp/c100/m/queue1 -type f -size +10k; done
