import { readFileSync } from 'node:fs';
import {
  buildSchema,
  getNamedType,
  isNonNullType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { readConfig } from '../../src/config/config.js';
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
        // An input that the contract does not have may have required members.
        if (!contract.has(type.name)) return [];
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

  it('has a description of every type, field, argument and value', () => {
    const undescribed = contractElementsOf(schema).filter(
      ({ description }) => (description ?? '').trim() === '',
    );
    expect(undescribed.map(({ coordinate }) => coordinate)).toEqual([]);
  });
});

describe('what can fail alone', () => {
  it.each([
    ['the built-in schema', undefined, ['Group.parents', 'User.groups']],
    ['a model file', 'sample/model.yaml', ['Profile.reports', 'UserPreview.reports']],
  ])('is nullable in %s: every connection, at any depth', async (_name, model, some) => {
    const sdl = await buildSdl(model === undefined ? undefined : readConfig({ DIRECTORY_MODEL: model }));
    const connections = Object.values(buildSchema(sdl).getTypeMap())
      .filter((type) => isObjectType(type) || isInterfaceType(type))
      .flatMap((type) =>
        Object.values(type.getFields())
          .filter((field) => getNamedType(field.type).name.endsWith('Connection'))
          .map((field) => ({ coordinate: `${type.name}.${field.name}`, field })),
      );
    expect(connections.map(({ coordinate }) => coordinate)).toEqual(expect.arrayContaining(some));
    expect(connections.filter(({ field }) => isNonNullType(field.type))).toEqual([]);
  });
});

describe('the types below payloads', () => {
  const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
  const objects = Object.values(schema.getTypeMap()).filter(isObjectType);
  const payloads = objects.filter(({ name }) => name.endsWith('Payload'));

  function reachableFrom(types: readonly GraphQLObjectType[]): Set<GraphQLNamedType> {
    const found = new Set<GraphQLNamedType>(types);
    for (const type of found) {
      if (!isObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) found.add(getNamedType(field.type));
    }
    return found;
  }

  it('are no nodes, and never those of queries', () => {
    const below = [...reachableFrom(payloads)].filter(isObjectType);
    expect(below.filter((type) => type.getInterfaces().length > 0)).toEqual([]);
    const shared = [...reachableFrom([schema.getQueryType() as GraphQLObjectType])].filter(isObjectType);
    expect(below.filter((type) => shared.includes(type)).map(({ name }) => name)).toEqual(['PageInfo']);
  });

  it('have the fields of the types of queries, with the same types and arguments', () => {
    const shown = (text: string) => text.replace(/Preview/g, '');
    for (const type of reachableFrom(payloads)) {
      const original = schema.getType(shown(type.name));
      if (
        !isObjectType(type) ||
        !isObjectType(original) ||
        original === type ||
        type.name === 'ChangePreview'
      )
        continue;
      const fieldsOf = ({ name }: GraphQLObjectType) =>
        [...signaturesOf(schema)]
          .filter(([coordinate]) => coordinate.startsWith(`${name}.`))
          .map(([coordinate, signature]) => [coordinate.slice(name.length), shown(signature)]);
      expect({ type: type.name, fields: fieldsOf(type) }).toEqual({
        type: type.name,
        fields: fieldsOf(original),
      });
    }
  });
});
