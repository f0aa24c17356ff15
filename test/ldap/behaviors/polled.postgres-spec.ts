import { join } from 'node:path';
import { groupDn } from '../../support/builders/directory.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { MIRROR_DN, MIRROR_PASSWORD, SUFFIX } from '../../support/servers/slapd.mjs';
import { OldCopy, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';
import { PHOTO_STAMP, PolledDirectory } from './polled-directory.js';

const vocabulary: Vocabulary = {
  ...openldapVocabulary,
  members: ['uniquemember'],
  // Servers of this kind name the class person.
  person: (id, person) =>
    openldapVocabulary.person(id, person).replace('objectClass: ', 'objectClass: person\nobjectClass: '),
  group(id, members) {
    const lines = [
      'objectClass: groupOfUniqueNames',
      `cn: ${id}`,
      ...members.map((dn) => `uniqueMember: ${dn}`),
    ];
    return `dn: ${groupDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
  },
  queries: {
    ...openldapVocabulary.queries,
    groups: { base: `ou=groups,${SUFFIX}`, filter: '(objectClass=groupOfUniqueNames)' },
  },
};

// It shows no times, so that it cannot be known whether it lags: the mirror follows the server that answers.
describe('An emulated server without times, numbers, pages and comparisons', () => {
  describeBehaviors(async () => {
    const server = await PolledDirectory.start();
    const file = (name: string) => join(server.directory, name);
    return {
      server,
      vocabulary,
      showsLag: false,
      // The whole server is read by each poll, which then rests nine times as long.
      crowdSize: 60,
      lag: OldCopy.lagOf(server),
      settings: {
        DIRECTORY_URL: server.url,
        DIRECTORY_BASE_DN: SUFFIX,
        DIRECTORY_CA_FILE: file('ca.pem'),
        DIRECTORY_CERT_FILE: file('server.pem'),
        DIRECTORY_KEY_FILE: file('server.key'),
        DIRECTORY_BIND_DN: MIRROR_DN,
        DIRECTORY_BIND_PASSWORD: MIRROR_PASSWORD,
        ...modelSetting(DISABLING_MODEL.replace('}', `, photoStamp: ${PHOTO_STAMP}}`)),
      },
    };
  });
});
