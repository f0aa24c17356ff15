#!/bin/sh
# Prepares an OpenLDAP server that is configured by cn=config, as root on its machine: the rights and limits of the account of the
# service, and the overlay that reports changes. Rules that the server has stay in force (docs/ldap.md).
#
#   ldap/set-up.sh [SUFFIX [ACCOUNT]]      asks for the suffix; the account is cn=mirror,SUFFIX by default
set -eu
cd "$(dirname "$0")"
export LDAPURI="${LDAPURI:-ldapi:///}"

find_in() {
  base=$1
  shift
  ldapsearch -Q -LLL -o ldif-wrap=no -Y EXTERNAL -b "$base" "$@"
}

suffix=${1:-}
if [ -z "$suffix" ]; then
  echo 'Suffixes of this server:'
  find_in cn=config '(olcSuffix=*)' olcSuffix | sed -n 's/^olcSuffix: /  /p'
  printf 'Suffix of the users and groups: '
  read -r suffix
fi
account=${2:-cn=mirror,$suffix}
database=$(find_in cn=config "(olcSuffix=$suffix)" dn | sed -n 's/^dn: //p')
if [ -z "$database" ]; then
  echo "This server has no database with the suffix $suffix" >&2
  exit 1
fi

# Writes a file with the names of this server.
apply() {
  escape='s/[&|\\]/\\&/g'
  sed -e "s|olcDatabase={1}mdb,cn=config|$(printf %s "$database" | sed "$escape")|" \
    -e "s|cn=mirror,dc=example,dc=org|$(printf %s "$account" | sed "$escape")|" "$1" |
    ldapmodify -Q -Y EXTERNAL
}

if find_in "$database" -s base olcLimits | grep -qiF "\"$account\""; then
  echo "The account $account has its rights already"
else
  apply mirror-access.ldif
fi
if find_in "$database" '(objectClass=olcSyncProvConfig)' dn | grep -q .; then
  echo "The database $database has the overlay syncprov already"
else
  apply syncprov.ldif
fi
