#!/bin/sh
# Fills an empty directory with the sample school and the account of the mirror, and serves it.
set -eu

configuration=${LDAP_CONFIGURATION:-/etc/ldap/slapd.conf}
data=${LDAP_DATA:-/var/lib/openldap}
sample=${LDAP_SAMPLE:-/sample/directory.ldif}
password=${LDAP_PASSWORD_FILE:-/run/secrets/ldap-password}
urls=${LDAP_URLS:-ldap://:1389 ldapi:///}

mirror() {
  printf '\ndn: cn=mirror,dc=example,dc=org\n'
  printf 'objectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: mirror\n'
  printf 'userPassword: %s\n' "$(tr -d '\n' <"$password" | slappasswd -n -T /dev/stdin)"
}

if [ ! -e "$data/filled" ]; then
  # Remains of an interrupted attempt.
  rm -f "$data"/*.mdb
  # slapadd does not know the first line, the version.
  { tail -n +2 "$sample"; mirror; } | slapadd -q -f "$configuration" -b dc=example,dc=org
  touch "$data/filled"
fi
exec slapd -d none -f "$configuration" -h "$urls"
