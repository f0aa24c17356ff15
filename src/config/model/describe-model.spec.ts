import { parse } from 'yaml';
import { modelSetting } from '../../../test/support/builders/model-file.js';
import { readConfig } from '../config.js';
import { PRESET_NAMES } from './presets/presets.js';
import { builtInConfig, NO_SAMPLE } from '../../../test/support/builders/built-in-config.js';
import { describeModel } from './build-mapping.js';
import { readModel } from './read-model.js';

const describe_ = (file: string) => describeModel({ server: 'openldap', ...readModel(file).model });
const FORMS = '[{attribute: member}, {attribute: memberUid, by: id}]';

describe('the effective model', () => {
  it('has the values of the file, and those of the preset', () => {
    const { DIRECTORY_MODEL: file } = modelSetting(`users:
  base: [ou=people, ou=staff]
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number., access: contact}
scopes: {contact: Phone numbers.}
`);
    const lines = describe_(file).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'server: openldap',
        'uuid: entryUUID',
        '    - ou=staff',
        '  id: uid',
        '    email: mail',
        '      type: String',
        '  contact: Phone numbers.',
        '    - attribute: member',
      ]),
    );
  });

  it('has the forms of members that the file has', () => {
    const { DIRECTORY_MODEL: file } = modelSetting(`groups:\n  members: ${FORMS}\n`);
    expect(parse(describe_(file))).toMatchObject({
      groups: {
        members: [
          { attribute: 'member', by: 'dn' },
          { attribute: 'memberUid', by: 'id' },
        ],
      },
    });
  });

  it('has the values of the preset of a server', () => {
    expect(parse(describeModel({ server: 'samba' }))).toMatchObject({
      server: 'samba',
      uuid: 'objectGUID',
      createdAt: 'whenCreated',
      users: {
        id: 'sAMAccountName',
        name: ['displayName', 'cn'],
        fields: { photo: ['thumbnailPhoto', 'jpegPhoto'] },
        disabled: '(userAccountControl:1.2.840.113556.1.4.803:=2)',
        memberOf: 'primaryGroupID',
      },
      groups: { admins: [{ attribute: [], by: 'dn' }], owners: [{ attribute: 'managedBy', by: 'dn' }] },
    });
  });

  it.each(PRESET_NAMES)('of %s is a model file with the same meaning', (server) => {
    const written = modelSetting(describeModel({ server }));
    expect(readConfig(written).directory).toEqual(readConfig(modelSetting(`server: ${server}`)).directory);
  });

  it.each([
    ['built-in', '# the defaults\n'],
    ['with fields', 'users: {fields: {own: {attribute: x, type: Int, description: A number.}}}'],
    ['with forms of members', `groups: {members: ${FORMS}, owners: [{attribute: []}]}`],
    ['without groups in users', 'server: samba\nusers: {memberOf: []}'],
  ])('is a model file with the same meaning: %s', (_, yaml) => {
    const before = modelSetting(yaml);
    const after = modelSetting(describe_(before.DIRECTORY_MODEL));
    expect(readConfig(after).directory).toEqual({ ...readConfig(before).directory, isServerGiven: true });
    expect(readConfig(after).scopes).toEqual(readConfig(before).scopes);
  });

  it('needs no file', () => {
    expect(
      readConfig({ ...NO_SAMPLE, ...modelSetting(describeModel({ server: 'openldap' })) }).directory,
    ).toEqual({
      ...builtInConfig().directory,
      isServerGiven: true,
    });
  });
});
