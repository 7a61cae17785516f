#!/bin/bash
exec perl /var/tmp/c75/read.pl /var/tmp/c75/left 1500
