import { modelSetting } from '../../../test/support/builders/model-file.js';
import { ConfigError, readConfig } from '../config.js';

const NESTED = '(memberOf:1.2.840.113556.1.4.1941:=cn=staff,dc=example,dc=org)';

function problemsOf(yaml: string, url: string): readonly string[] {
  try {
    readConfig({ DIRECTORY_URL: url, ...modelSetting(yaml) });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('a filter that only a server can evaluate', () => {
  it('selects the entries of a server, and is refused for a file and for what the service evaluates', () => {
    const model = `users: {filter: "${NESTED}"}`;
    expect(problemsOf(model, 'ldap://directory.example.org')).toEqual([]);
    expect(problemsOf(model, 'file:directory.ldif')).toEqual([
      expect.stringMatching(/model\.yaml:1:17: users\.filter: invalid filter: a match by the rule .*1941/),
    ]);
    for (const yaml of [
      `users: {disabled: "${NESTED}"}`,
      `visibility: {users: [{where: "${NESTED}", to: self}]}`,
    ])
      expect(problemsOf(yaml, 'ldap://directory.example.org')).toEqual([
        expect.stringContaining('which only a server can evaluate'),
      ]);
  });
});
