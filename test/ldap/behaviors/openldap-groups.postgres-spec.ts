import { groupDn, personDn } from '../../support/builders/directory.js';
import { modelSetting } from '../../support/builders/model-file.js';
import { directorySettings } from '../../support/servers/ldap.js';
import { type SlapdOptions, startSlapd, SUFFIX } from '../../support/servers/slapd.mjs';
import { type BehaviorDirectory, idOf, OldCopy, type Vocabulary } from './behavior-directory.js';
import { describeBehaviors } from './behaviors.js';
import { DISABLING_MODEL, openldapVocabulary } from './openldap-vocabulary.js';

/** Groups of a class whose members are in one attribute. */
function groupsOf(
  objectClass: string,
  attribute: string,
  filter = `(objectClass=${objectClass})`,
): Vocabulary {
  const namesIds = attribute === 'memberUid';
  return {
    ...openldapVocabulary,
    members: [attribute.toLowerCase()],
    namesIds,
    group(id, members) {
      const lines = [
        `objectClass: ${objectClass}`,
        `cn: ${id}`,
        ...(namesIds ? ['gidNumber: 1000'] : []),
        ...members.map((dn) => `${attribute}: ${namesIds ? idOf(dn) : dn}`),
      ];
      return `dn: ${groupDn(id)}\nchangetype: add\n${lines.join('\n')}\n`;
    },
    queries: { ...openldapVocabulary.queries, groups: { base: `ou=groups,${SUFFIX}`, filter } },
  };
}

async function start(
  vocabulary: Vocabulary,
  groups: string,
  options: SlapdOptions = {},
): Promise<BehaviorDirectory> {
  const server = await startSlapd(options);
  return {
    server,
    vocabulary,
    showsLag: true,
    lag: OldCopy.lagOf(server),
    settings: { ...directorySettings(server), ...modelSetting(`${DISABLING_MODEL}\n${groups}`) },
  };
}

describe('OpenLDAP with groups of the class posixGroup', () => {
  const model = 'groups: {filter: (objectClass=posixGroup), members: {attribute: memberUid, by: id}}';
  describeBehaviors(() => start(groupsOf('posixGroup', 'memberUid'), model));
});

describe('OpenLDAP with groups of the class groupOfUniqueNames, and dynamic groups', () => {
  const filter = '(|(objectClass=groupOfUniqueNames)(objectClass=groupOfURLs))';
  const listed = groupsOf('groupOfUniqueNames', 'uniqueMember', filter);
  const vocabulary = { ...listed, members: [...listed.members, 'member'] };
  const model = `groups: {filter: ${filter}, members: {attribute: [member, uniqueMember]}}`;

  describeBehaviors(() => start(vocabulary, model, { dynlist: true }), {
    'the members of dynamic groups, also when users start or cease to match': async (_, change) => {
      const named = (id: string, name: string) =>
        `dn: ${personDn(id)}\nchangetype: modify\nreplace: sn\nsn: ${name}\n`;
      const search = `ldap:///ou=people,${SUFFIX}??sub?(sn=Chosen)`;
      await change(
        named('ann', 'Chosen'),
        named('ben', 'Chosen'),
        `dn: ${groupDn('chosen')}\nchangetype: add\nobjectClass: groupOfURLs\nmemberURL: ${search}\n`,
      );
      await change(named('ann', 'Other'), named('cleo', 'Chosen'));
    },
  });
});
