import { checkModel } from './read-model.js';

/** The problems in a file as line, column and text. */
function problemsIn(yaml: string): string[] {
  return checkModel(yaml).problems.map(({ line, column, text }) => `${line}:${column} ${text}`);
}

describe('the problems of a model file', () => {
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
      '4:26 visibility.users.0.to:',
      '5:15 visibility.users.1.where:',
      '6:15 visibility.users.2.where:',
    ]);
  });
});
