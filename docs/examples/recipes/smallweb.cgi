#!/bin/sh
# SPDX-License-Identifier: MIT
# A local CGI for w3m and Chawan: shows the page of the URL in the query.
case $QUERY_STRING in
    *://*) ;;
    *) printf 'Content-Type: text/plain\r\n\r\nno URL\n'; exit ;;
esac
printf 'Content-Type: text/html; charset=utf-8\r\n\r\n<!doctype html>\n'
smallweb get --render html --max-time 60 -- "$QUERY_STRING" 2>&1 || printf '<p>(failed)</p>\n'
