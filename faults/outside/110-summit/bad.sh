#!/bin/bash
exec perl /var/tmp/c110/tok.pl /var/tmp/c110/in2.txt
