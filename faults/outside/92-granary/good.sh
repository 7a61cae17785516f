#!/bin/bash
exec perl /var/tmp/c92/fill.pl /var/tmp/c92/rye 11 sack
