import { readFileSync } from 'node:fs';
import { modelSetting } from '../../test/support/builders/model-file.js';
import { readConfig } from '../config/config.js';
import { AUXILIARY_CLASSES, auxiliaryClassOf } from './records.js';

const { person, group } = AUXILIARY_CLASSES;

/** Returns the attributes that the schema allows for an entry with the class. */
function allowedBy(name: string): string[] {
  const schema = readFileSync('ldap/directory.schema', 'utf8');
  const [, allowed = ''] = new RegExp(`NAME '${name}'[^']*'[^']*'[^']*MAY \\(([^)]*)\\)`).exec(schema) ?? [];
  return allowed.split('$').map((attribute) => attribute.trim());
}

describe('the auxiliary classes', () => {
  it('allow the attributes of a user that the schema allows', () => {
    expect(person.attributes).toEqual(allowedBy(person.name));
  });

  it('allow the attributes of a group that the schema allows, except the owners of groupOfNames', () => {
    const allowed = allowedBy(group.name);
    expect(allowed).toContain('owner');
    expect(group.attributes).toEqual(allowed.filter((attribute) => attribute !== 'owner'));
  });

  it('are not added to groups if new ones do not need them', () => {
    const groups = (classes: string) =>
      auxiliaryClassOf('group', readConfig(modelSetting(`groups: {classes: ${classes}}`)).directory.mapping);
    expect(groups('[groupOfNames, DirectoryGroup]')).toBe(group);
    expect(groups('groupOfNames')).toBeNull();
  });
});
