#!/bin/sh
# Writes the secrets of a deployment, each into a file of its own: usage: deploy/make-secrets.sh [DIRECTORY].
# What is there already stays as it is, so it can be run again when a release brings another one.
set -eu

directory=${1:-"$(dirname "$0")/secrets"}
mkdir -p "$directory"
# The files are shown to containers of several users; the directory keeps everybody else on this machine out.
chmod 700 "$directory"
umask 022

# Hexadecimal digits mean nothing in a URL, in a configuration or to a shell.
keep() {
  [ -e "$directory/$1" ] || printf '%s\n' "$2" >"$directory/$1"
}
random() {
  od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'
}

keep postgres-password "$(random)"
keep database-url "postgres://directory:$(cat "$directory/postgres-password")@postgres/directory"
keep redis-password "$(random)"
keep redis-configuration "requirepass $(cat "$directory/redis-password")"
keep redis-url "redis://:$(cat "$directory/redis-password")@redis"
keep ldap-password "$(random)"
keep url-signing-keys "$(random)"
