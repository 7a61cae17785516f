#!/bin/bash
exec perl /var/tmp/c110/tok.pl /var/tmp/c110/in1.txt
