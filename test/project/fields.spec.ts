import { readFileSync, writeFileSync } from 'node:fs';
import type { Field } from '../../src/common/field.js';
import { builtInConfig } from '../support/builders/built-in-config.js';

const PAGE = 'docs/model.md';
const { mapping } = builtInConfig().directory;
const users = mapping.users.fields;
const groups = mapping.groups.fields;

describe('the tables of fields', () => {
  it('match the table of the documentation', () => {
    const text = readFileSync(PAGE, 'utf8');
    const [before = '', , after = ''] = text.split(
      /(?<=<!-- fields -->\n\n)([^]*?)(?=\n<!-- end of fields -->)/,
    );
    const expected = `${before}${describeFields()}${after}`;
    // `WRITE_DOCS=1` writes the table.
    if (process.env['WRITE_DOCS'] === '1') writeFileSync(PAGE, expected);
    else expect(text).toBe(expected);
  });
});

/** Fields of both types with their attributes. */
function describeFields(): string {
  const names = [...new Set([...users, ...groups].map(({ name }) => name))];
  const cell = (fields: readonly Field[], name: string) =>
    (fields.find((field) => field.name === name)?.attributes ?? [])
      .map((each) => `\`${each}\``)
      .join(', else ');
  const rows = names
    .map((name) => [`\`${name}\``, cell(users, name), cell(groups, name)])
    .filter(([, user, group]) => `${user ?? ''}${group ?? ''}` !== '');
  const table = [
    ['field', 'users', 'groups'],
    ['', '', ''],
    ...rows,
    ['MEMBER, ADMIN, OWNER', '', '`member`, `groupAdmin`, `owner`'],
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row, index) =>
    widths.map((width, column) => (index === 1 ? '-'.repeat(width) : (row[column] ?? '').padEnd(width))),
  );
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
