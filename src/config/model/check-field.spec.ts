import { matchIn } from './build-mapping.js';
import { checkModel } from './read-model.js';

/** The problems of one field. */
function problemsOf(attribute: string, rest: string) {
  return checkModel(`users: {fields: {own: {attribute: ${attribute}, description: D., ${rest}}}}`).problems;
}

describe('fields of credentials', () => {
  it.each([
    ...['userPassword', 'USERPASSWORD;x-a', 'unicodePwd', 'krbPrincipalKey', 'sambaNTPassword'],
    ...['2.5.4.35', '2.5.4.35;x-a', '1.2.840.113556.1.4.90', '2.16.840.1.113719.1.301.4.39.1'],
    ...['1.3.6.1.4.1.7165.2.1.25', '1.2.840.113556.1.6.44.1.6', '2.16.840.1.113730.3.8.11.5'],
  ])('are rejected: %s', (attribute) => {
    const problem = {
      text: expect.stringMatching(
        /^users\.fields\.own\.attribute.*: an attribute that holds credentials/,
      ) as string,
    };
    expect(problemsOf(`"${attribute}"`, 'type: String')).toMatchObject([problem]);
    expect(problemsOf(`[mail, "${attribute}"]`, 'type: String')).toMatchObject([problem]);
  });

  it('are not those whose names begin alike', () => {
    expect(problemsOf('userPasswordHint', 'type: String')).toEqual([]);
  });
});

describe('how values are compared', () => {
  it.each([
    ['telephoneNumber', 'String', 'phone'],
    ['MOBILE;lang-de', 'String', 'phone'],
    ['pager', '[String!]!', 'phone'],
    ['facsimileTelephoneNumber', 'String', 'phone'],
    ['homePhone', 'String', 'phone'],
    ['homeDirectory', 'String', 'caseExact'],
    ['uidNumber', 'String', 'integer'],
    ['title', 'String', 'caseIgnore'],
    ['x-unknown', 'String', 'caseIgnore'],
    ['url', 'URL', 'caseExact'],
  ] as const)('is by default that of the attribute: %s, %s: %s', (attribute, type, match) => {
    expect(matchIn({ attribute: [attribute], type })).toBe(match);
    expect(matchIn({ attribute: [attribute, 'sn'], type })).toBe(match);
  });

  it.each([
    ['String', ['caseIgnore', 'caseExact', 'phone', 'integer']],
    ['"[String!]!"', ['caseIgnore', 'caseExact', 'phone', 'integer']],
    ['URL', ['caseIgnore', 'caseExact']],
    ['Int', ['integer']],
    ['Float', []],
    ['Boolean', []],
    ['DateTime', []],
    ['User', []],
  ])('has to fit the type, or is a problem with its place: %s', (type, fitting) => {
    for (const match of ['caseIgnore', 'caseExact', 'phone', 'integer']) {
      const yaml = `users:\n  fields:\n    x: {attribute: y, type: ${type}, description: An x., match: ${match}}`;
      const text = expect.stringMatching(/^users\.fields\.x\.match: not possible with the type /) as string;
      const column = yaml.split('\n')[2]?.lastIndexOf(match) ?? 0;
      expect(checkModel(yaml).problems).toEqual(
        fitting.includes(match) ? [] : [{ line: 3, column: column + 1, text }],
      );
    }
    const unknown = `users: {fields: {x: {attribute: y, type: ${type}, description: An x., match: exact}}}`;
    expect(checkModel(unknown).problems).toHaveLength(1);
  });
});

describe('attributes of credentials', () => {
  it.each([
    'users: {id: userPassword}',
    'users: {name: [cn, userPassword]}',
    'users: {photoStamp: unicodePwd}',
    'users: {fields: {email: "userPassword;lang-de"}}',
    'users: {fields: {givenName: USERPASSWORD}}',
    'users: {memberOf: ms-Mcs-AdmPwd}',
    'groups: {members: {attribute: 2.5.4.35}}',
    'groups: {name: msLAPS-EncryptedPassword}',
    'groups: {id: krbPwdHistory}',
    'uuid: userPKCS12',
  ])('are rejected beside custom fields, too: %s', (yaml) => {
    expect(checkModel(yaml).problems).toMatchObject([
      { text: expect.stringMatching(/^[\w.]+: an attribute that holds credentials$/) as string },
    ]);
  });

  it.each([
    'users: {disabled: (!(userPassword=*))}',
    'visibility: {users: [{where: (uid=a), to: self}, {where: (&(uid=b)(2.5.4.35=secret)), to: self}]}',
    'visibility: {groups: [{where: (unicodePwd=*), to: admins}]}',
    'visibility: {members: [{where: (USERPASSWORD;x-a=*), to: admins}]}',
  ])('are rejected in filters that the service evaluates: %s', (yaml) => {
    expect(checkModel(yaml).problems).toMatchObject([
      { text: expect.stringMatching(/^[\w.]+: reads an attribute that holds credentials$/) as string },
    ]);
  });
});
