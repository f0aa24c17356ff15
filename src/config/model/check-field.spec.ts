import { checkField } from './check-field.js';

const field = { type: 'String', description: 'A field.' } as const;

describe('fields of credentials', () => {
  it.each(['userPassword', 'USERPASSWORD;x-a', '2.5.4.35', 'unicodePwd', 'krbPrincipalKey'])(
    'are rejected: %s',
    (attribute) => {
      const problem = { key: 'attribute', text: expect.stringContaining('holds credentials') as string };
      expect(checkField({ ...field, attribute })).toEqual([problem]);
      expect(checkField({ ...field, attribute: ['mail', attribute] })).toEqual([problem]);
    },
  );

  it('are not those whose names begin alike', () => {
    expect(checkField({ ...field, attribute: 'userPasswordHint' })).toEqual([]);
  });
});
