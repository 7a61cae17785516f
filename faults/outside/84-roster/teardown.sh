#!/bin/bash
rm -rf /var/tmp/c84
