import { checkModel } from './read-model.js';

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

describe('the problems of a model file', () => {
  it.each([
    ['in a block', 'type: [String!]!\n      description: A field.', '5:13'],
    ['in a list of keys', '\n        {type: [Int!]!, description: A field., attribute: x}', '5:16'],
  ])('name a type without quotes %s, and include others', (_, rest, place) => {
    const own = rest.startsWith('\n') ? `own:${rest}` : `own:\n      attribute: x\n      ${rest}`;
    const yaml = `# type: [String!]!\nusers:\n  fields:\n    ${own}\n  id: no name\n`;
    const [line = '', column = ''] = place.split(':');
    const shift = rest.startsWith('\n') ? 0 : 1;
    expect(problemsIn(yaml)).toEqual([
      expect.stringMatching(
        new RegExp(`^${Number(line) + shift}:${column} .* has to be quoted: "\\[(String|Int)!\\]!"$`),
      ),
      expect.stringMatching(/^\d+:7 users\.id is not the name/),
    ]);
  });

  it('include those of all rules of a list', () => {
    const yaml = `
visibility:
  users:
    - {where: (a=b), to: nobody}
    - {where: (userPassword=x), to: self}
    - {where: "(x", to: self}
`;
    expect(
      problemsIn(yaml)
        .map((each) => each.split(' ').slice(0, 2).join(' '))
        .sort(),
    ).toEqual([
      '4:26 visibility.users.0.to',
      '5:15 visibility.users.1.where',
      '6:15 visibility.users.2.where',
    ]);
  });
});
