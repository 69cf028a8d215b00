#!/bin/sh
# crawl_once_test.sh PROGRAM: two runs on overlapping lists print each URL once.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
first=$(printf 'http://a/\nhttp://b/\nhttp://a/\n' | "$1" "$folder/seen.blm")
second=$(printf 'http://b/\nhttp://c/\n' | "$1" "$folder/seen.blm")
[ "$first" = "$(printf 'http://a/\nhttp://b/')" ] || { echo "first run printed: $first"; exit 1; }
[ "$second" = 'http://c/' ] || { echo "second run printed: $second"; exit 1; }
