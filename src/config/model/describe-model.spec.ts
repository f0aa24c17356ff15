import { modelSetting } from '../../../test/support/builders/model-file.js';
import { readConfig } from '../config.js';
import { PRESET_NAMES } from './presets/presets.js';
import { builtInConfig, NO_SAMPLE } from '../../../test/support/builders/built-in-config.js';
import { describeModel } from './describe-model.js';

const FORMS = '[{attribute: member}, {attribute: memberUid, by: id}]';

describe('the effective model', () => {
  it('says where each value comes from', () => {
    const { DIRECTORY_MODEL: file } = modelSetting(`users:
  base: [ou=people, ou=staff]
  fields:
    phone: {attribute: telephoneNumber, type: String, description: The phone number., access: contact}
scopes: {contact: Phone numbers.}
`);
    const lines = describeModel(file).split('\n');
    expect(lines[0]).toMatch(`# The effective model of ${file}. `);
    expect(lines).toEqual(
      expect.arrayContaining([
        'server: openldap # default',
        'uuid: entryUUID # preset openldap',
        `  base: [ou=people, ou=staff] # ${file}:2`,
        '  id: uid # preset openldap',
        '    email: mail # preset openldap',
        `      type: String # ${file}:4`,
        `  contact: Phone numbers. # ${file}:5`,
        '  members: [{attribute: member, by: dn}] # preset openldap',
      ]),
    );
  });

  it.each(PRESET_NAMES)('of %s is a model file with the same meaning', (server) => {
    const written = modelSetting(describeModel(null, server));
    expect(readConfig(written).directory).toEqual(readConfig(modelSetting(`server: ${server}`)).directory);
  });

  it.each([
    ['built-in', '# the defaults\n'],
    ['with fields', 'users: {fields: {own: {attribute: x, type: Int, description: A number.}}}'],
    ['with forms of members', `groups: {members: ${FORMS}, owners: [{attribute: []}]}`],
    ['without groups in users', 'server: samba\nusers: {memberOf: []}'],
  ])('is a model file with the same meaning: %s', (_, yaml) => {
    const before = modelSetting(yaml);
    const after = modelSetting(describeModel(before.DIRECTORY_MODEL));
    expect(readConfig(after).directory).toEqual({ ...readConfig(before).directory, isServerGiven: true });
    expect(readConfig(after).scopes).toEqual(readConfig(before).scopes);
  });

  it('needs no file', () => {
    expect(readConfig({ ...NO_SAMPLE, ...modelSetting(describeModel(null)) }).directory).toEqual({
      ...builtInConfig().directory,
      isServerGiven: true,
    });
  });
});
