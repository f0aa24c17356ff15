import { readFileSync } from 'node:fs';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { readConfig } from '../config/config.js';
import { auxiliaryClassOfGroups, DIRECTORY_GROUP, DIRECTORY_PERSON } from './stored-entry.js';

/** Returns the attributes that the schema allows for an entry with the class. */
function allowedBy(name: string): string[] {
  const schema = readFileSync('ldap/directory.schema', 'utf8');
  const [, allowed = ''] = new RegExp(`NAME '${name}'[^']*'[^']*'[^']*MAY \\(([^)]*)\\)`).exec(schema) ?? [];
  return allowed.split('$').map((attribute) => attribute.trim());
}

describe('the auxiliary classes', () => {
  it('allow the attributes of a user that the schema allows', () => {
    expect(DIRECTORY_PERSON.attributes).toEqual(allowedBy(DIRECTORY_PERSON.name));
  });

  it('allow the attributes of a group that the schema allows, except the owners of groupOfNames', () => {
    const allowed = allowedBy(DIRECTORY_GROUP.name);
    expect(allowed).toContain('owner');
    expect(DIRECTORY_GROUP.attributes).toEqual(allowed.filter((attribute) => attribute !== 'owner'));
  });

  it('are not added to groups if new ones do not need them', () => {
    const groups = (classes: string) =>
      auxiliaryClassOfGroups(
        readConfig(modelSetting(`groups: {classes: ${classes}}`)).directory.mapping.groups,
      );
    expect(groups('[groupOfNames, DirectoryGroup]')).toBe(DIRECTORY_GROUP);
    expect(groups('groupOfNames')).toBeNull();
  });
});
