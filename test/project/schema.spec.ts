import { readFileSync } from 'node:fs';
import {
  buildSchema,
  isInputObjectType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { findDeprecationProblems } from '../../src/graphql/schema/deprecation.js';
import { buildSdl } from '../../src/schema.js';
import { contractElementsOf, signaturesOf } from '../support/builders/schema-coordinates.js';

describe('the schema', () => {
  const file = readFileSync('schema.graphql', 'utf8');
  const schema = buildSchema(file);
  const contract = signaturesOf(buildSchema(readFileSync('test/project/contract.graphql', 'utf8')));
  const served = signaturesOf(schema);

  it('that the classes build matches the file', async () => {
    expect(await buildSdl()).toBe(file);
  });

  it('has everything that the contract has, with its types, arguments and defaults', () => {
    const found = [...contract.keys()].map((coordinate) => [coordinate, served.get(coordinate) ?? 'missing']);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(contract));
  });

  it('requires nothing of clients that the contract does not require', () => {
    const required = Object.values(schema.getTypeMap()).flatMap((type) => {
      if (isInputObjectType(type)) {
        const fields = Object.values(type.getFields()).filter(isRequiredInputField);
        return fields.map((field) => `${type.name}.${field.name}`);
      }
      if (!isObjectType(type) || type.name.startsWith('__')) return [];
      // A field that the contract does not have may have required arguments.
      const known = Object.values(type.getFields()).filter(({ name }) =>
        contract.has(`${type.name}.${name}`),
      );
      return known.flatMap((field) =>
        field.args
          .filter(isRequiredArgument)
          .map((argument) => `${type.name}.${field.name}(${argument.name}:)`),
      );
    });
    expect(required.filter((coordinate) => !contract.has(coordinate))).toEqual([]);
  });

  it('has dates of deprecation and removal for all deprecated elements', () => {
    expect(findDeprecationProblems(schema)).toEqual([]);
  });

  it('has a description of every type, field, argument and value', () => {
    const undescribed = contractElementsOf(schema).filter(
      ({ description }) => (description ?? '').trim() === '',
    );
    expect(undescribed.map(({ coordinate }) => coordinate)).toEqual([]);
  });
});
