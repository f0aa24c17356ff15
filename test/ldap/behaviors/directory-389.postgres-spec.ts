import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personDn } from '../../support/builders/directory.js';
import { TestDirectory389 } from '../../support/servers/directory-389.js';
import { SUFFIX } from '../../support/servers/slapd.mjs';
import { variable } from '../../support/servers/store.js';
import { textOf, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { standardVocabulary } from './standard-vocabulary.js';

const ACCOUNT = `cn=mirror,${SUFFIX}`;
const PASSWORD = 'mirror-secret';

const vocabulary: Vocabulary = {
  ...standardVocabulary,
  disable: (id) => `dn: ${personDn(id)}\nchangetype: modify\nreplace: nsAccountLock\nnsAccountLock: TRUE\n`,
  isActive: (user) => textOf(user, 'nsaccountlock').toLowerCase() !== 'true',
};

/** The account as docs/ldap.md describes it. */
const CONTENT = `${['people', 'groups']
  .map((name) => `dn: ou=${name},${SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n`)
  .join('\n')}
dn: ${ACCOUNT}
changetype: add
objectClass: applicationProcess
objectClass: simpleSecurityObject
userPassword: ${PASSWORD}

dn: ${SUFFIX}
changetype: modify
add: aci
aci: (targetattr="*")(version 3.0; acl "mirror"; allow (read, search, compare) userdn="ldap:///${ACCOUNT}";)
`;

describe('389 Directory Server', () => {
  describeBehaviors(async () => {
    const server = await TestDirectory389.start();
    const { code, stderr } = await server.modify(CONTENT);
    if (code !== 0) throw new Error(`ldapmodify: ${stderr}`);
    const authority = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'authority-')), 'ca.pem');
    writeFileSync(authority, server.ca);
    const settings = {
      DIRECTORY_URL: `ldaps://127.0.0.1:${server.tlsPort}`,
      DIRECTORY_BASE_DN: SUFFIX,
      DIRECTORY_BIND_DN: ACCOUNT,
      DIRECTORY_BIND_PASSWORD: PASSWORD,
      DIRECTORY_CA_FILE: authority,
    };
    return { server, vocabulary, showsLag: false, settings };
  });
});
