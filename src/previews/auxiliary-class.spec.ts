import { readFileSync } from 'node:fs';
import { readConfig } from '../config/config.js';
import { auxiliaryClassOfGroups, DIRECTORY_GROUP, DIRECTORY_PERSON } from './auxiliary-class.js';

/** Returns the attributes that the schema allows for an entry with the class. */
function allowedBy(name: string): string[] {
  const schema = readFileSync('ldap/directory.schema', 'utf8');
  const [, allowed = ''] = new RegExp(`NAME '${name}'[^']*'[^']*'[^']*MAY \\(([^)]*)\\)`).exec(schema) ?? [];
  return allowed.split('$').map((attribute) => attribute.trim());
}

describe('the auxiliary classes', () => {
  it('allow a person what the schema does', () => {
    expect(DIRECTORY_PERSON.attributes).toEqual(allowedBy(DIRECTORY_PERSON.name));
  });

  it('allow a group what the schema does, but for the owners that groupOfNames has', () => {
    const allowed = allowedBy(DIRECTORY_GROUP.name);
    expect(allowed).toContain('owner');
    expect(DIRECTORY_GROUP.attributes).toEqual(allowed.filter((attribute) => attribute !== 'owner'));
  });

  it('are not given to groups where new ones do without', () => {
    const groups = (classes: string) =>
      auxiliaryClassOfGroups(readConfig({ DIRECTORY_GROUP_CLASSES: classes }).directory.mapping.groups);
    expect(groups('groupOfNames,DirectoryGroup')).toBe(DIRECTORY_GROUP);
    expect(groups('groupOfNames')).toBeNull();
  });
});
