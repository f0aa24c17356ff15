import { buildLdif, groupDn, personDn, type TestPerson } from '../support/builders/directory.js';
import { readIds, readMembers, readNames } from '../support/builders/ldap-mirror.js';
import { modelSetting } from '../support/builders/model-file.js';
import { eventually } from '../support/eventually.js';
import { sendPreviews } from '../support/clients/previews.js';
import { TestService } from '../support/servers/service.js';

const STAFF = groupDn('staff');
const ANNA = personDn('anna');

/** A directory whose users name groups by the attribute `businessCategory`. */
function ldifOf(people: readonly (TestPerson & { readonly names?: string; readonly dn?: string })[]): string {
  const records = buildLdif([...people], [{ id: 'staff', members: ['ben'] }]).split('\n\n');
  return records
    .map((record) => {
      const dn = Buffer.from(/^dn:: (\S+)$/m.exec(record)?.[1] ?? '', 'base64').toString();
      const person = people.find(({ id }) => personDn(id) === dn);
      const lines = person?.names === undefined ? [] : [`businessCategory: ${person.names}`];
      const named = [record.trimEnd(), ...lines].join('\n');
      return person?.dn === undefined ? named : named.replace(/^dn:: .*$/m, `dn: ${person.dn}`);
    })
    .join('\n\n')
    .concat('\n');
}

const BEN: TestPerson = { id: 'ben' };
const UUID = '7d5c1f0e-0000-4000-8000-5a1ad0000011';
const anna = { id: 'anna', uuid: UUID, names: STAFF };

describe('a file in which users name groups', () => {
  const service = TestService.forSuite({
    ldif: ldifOf([BEN, anna]),
    environment: { ...modelSetting('users: {memberOf: businessCategory}\n'), DIRECTORY_GUARD_PERCENT: '100' },
  });
  const members = () => readMembers(service, 'staff');
  const apply = (people: Parameters<typeof ldifOf>[0]) => {
    service.replaceDirectory(ldifOf(people));
  };

  it('keeps the membership of a user who is renamed', async () => {
    expect(await members()).toEqual(['anna MEMBER', 'ben MEMBER']);
    const moved = { ...anna, dn: ANNA.replace('uid=anna', 'cn=anna'), name: 'Anna Moved' };
    apply([BEN, moved]);
    await eventually(async () => (await readNames(service))['anna'], 'Anna Moved');
    expect(await members()).toEqual(['anna MEMBER', 'ben MEMBER']);
  });

  it('has no member by what a user named who was deleted', async () => {
    apply([BEN]);
    await eventually(members, ['ben MEMBER']);
    // Another entry with the same DN, which names no group.
    apply([BEN, { id: 'anna', dn: ANNA.replace('uid=anna', 'cn=anna'), uuid: UUID.replace('11', '12') }]);
    await eventually(() => readIds(service), ['anna', 'ben']);
    expect(await members()).toEqual(['ben MEMBER']);
  });

  it('has the member that a user names whose id another user releases', async () => {
    const other = ['objectClass: inetOrgPerson', 'uid: anna', 'cn: Other', 'sn: Other'].join('\n');
    const dn = ANNA.replace('uid=anna', 'cn=other');
    const rival = `dn: ${dn}\n${other}\nentryUUID: ${UUID.replace('11', '13')}\n`;
    apply([BEN]);
    await eventually(() => readIds(service), ['ben']);
    // Both claim the id, and none has it: a complete reading stores nothing of what they name.
    service.replaceDirectory(`${ldifOf([BEN, anna])}\n${rival}`);
    await service.synchronize();
    service.replaceDirectory(`${ldifOf([{ ...BEN, name: 'Benjamin' }, anna])}\n${rival}`);
    await eventually(() => readNames(service), { ben: 'Benjamin' });
    expect(await members()).toEqual(['ben MEMBER']);
    apply([BEN, anna]);
    await eventually(() => readIds(service), ['anna', 'ben']);
    expect(await members()).toEqual(['anna MEMBER', 'ben MEMBER']);
  });

  it('keeps what a user names in a preview that changes the user before', async () => {
    apply([BEN, anna]);
    await eventually(members, ['anna MEMBER', 'ben MEMBER']);
    const { errors } = await sendPreviews(
      service,
      `mutation {
        updateUser(input: {user: {id: "anna"}, name: "Other"}) { preview { ldif } }
        removeGroupMember(input: {group: {id: "staff"}, user: {id: "anna"}}) { preview { ldif } }
      }`,
      { authorization: await service.serviceAccount('read', 'directory', 'write') },
    );
    expect(errors.map(({ path, extensions: { code } }) => [path, code])).toEqual([
      [['removeGroupMember'], 'CONFLICT'],
    ]);
  });
});
