#!/bin/sh
# Writes the secrets of a deployment, one file each. Usage: deploy/make-secrets.sh [DIRECTORY].
# Existing files are kept, so it can run again when a release adds a secret.
set -eu

directory=${1:-"$(dirname "$0")/secrets"}
mkdir -p "$directory"
# Containers with several users read the files; the directory excludes other users of this machine.
chmod 700 "$directory"
umask 022

# Hexadecimal digits need no quoting in URLs, configurations and shells.
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
