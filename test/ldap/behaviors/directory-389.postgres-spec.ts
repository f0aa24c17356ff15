import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { personDn } from '../../support/builders/directory.js';
import { TestDirectory389 } from '../../support/servers/directory-389.js';
import { SUFFIX } from '../../support/servers/slapd.mjs';
import { variable } from '../../support/servers/store.js';
import { textOf, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { documentedRecords } from './documented-records.js';
import { standardVocabulary } from './standard-vocabulary.js';

const ACCOUNT = `cn=mirror,${SUFFIX}`;
const PASSWORD = 'mirror-secret';

const vocabulary: Vocabulary = {
  ...standardVocabulary,
  disable: (id) => `dn: ${personDn(id)}\nchangetype: modify\nreplace: nsAccountLock\nnsAccountLock: TRUE\n`,
  isActive: (user) => textOf(user, 'nsaccountlock').toLowerCase() !== 'true',
};

const CONTENT = [
  ...['people', 'groups'].map(
    (name) => `dn: ou=${name},${SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n`,
  ),
  documentedRecords('389 Directory Server'),
].join('\n');

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
