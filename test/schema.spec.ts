import { readFileSync } from 'node:fs';
import {
  buildSchema,
  isInputObjectType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { buildSdl } from '../src/schema.js';
import { declarationsOf, signaturesOf } from './support/schema-coordinates.js';

/**
 * What the contract promises and a later version brings: coordinates, or the beginnings of some. A line has to go
 * from here when what it names exists.
 */
const STILL_TO_COME = [
  'Query.changes',
  'Change',
  'ChangeConnection',
  'ChangeEdge',
  'ChangeFilter',
  'ChangeKind',
];

describe('the schema', () => {
  const file = readFileSync('schema.graphql', 'utf8');
  const schema = buildSchema(file);
  const contract = signaturesOf(buildSchema(readFileSync('test/contract.graphql', 'utf8')));
  const served = signaturesOf(schema);
  const promised = [...contract].filter(([coordinate]) => !STILL_TO_COME.some(isPartOf(coordinate)));

  it('is what the classes build, as it stands in the file', async () => {
    expect(await buildSdl()).toBe(file);
  });

  it('has everything that the contract has, with its types, arguments and defaults', () => {
    const found = promised.map(([coordinate]) => [coordinate, served.get(coordinate) ?? 'missing']);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(promised));
  });

  it.each(STILL_TO_COME)('does not have %s yet, which the contract has', (awaited) => {
    expect([...contract.keys()]).toContain(awaited);
    expect([...served.keys()].filter((coordinate) => isPartOf(coordinate)(awaited))).toEqual([]);
  });

  it('asks nothing of clients that the contract does not ask', () => {
    const required = Object.values(schema.getTypeMap()).flatMap((type) => {
      if (isInputObjectType(type)) {
        const fields = Object.values(type.getFields()).filter(isRequiredInputField);
        return fields.map((field) => `${type.name}.${field.name}`);
      }
      if (!isObjectType(type) || type.name.startsWith('__')) return [];
      return Object.values(type.getFields()).flatMap((field) =>
        field.args
          .filter(isRequiredArgument)
          .map((argument) => `${type.name}.${field.name}(${argument.name}:)`),
      );
    });
    expect(required.filter((coordinate) => !contract.has(coordinate))).toEqual([]);
  });

  it('says of every type, field, argument and value what it is', () => {
    const undescribed = declarationsOf(schema).filter(({ description }) => (description ?? '').trim() === '');
    expect(undescribed.map(({ coordinate }) => coordinate)).toEqual([]);
  });
});

function isPartOf(coordinate: string): (whole: string) => boolean {
  return (whole) =>
    coordinate === whole || coordinate.startsWith(`${whole}.`) || coordinate.startsWith(`${whole}(`);
}
