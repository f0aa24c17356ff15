import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type FieldDefinitionNode,
  getNamedType,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  visit,
} from 'graphql';
import { readConfig } from '../../src/config/config.js';
import { buildSdl } from '../../src/schema.js';

describe('the schema', () => {
  const file = readFileSync('schema.graphql', 'utf8');

  it('that the classes build matches the file', async () => expect(await buildSdl()).toBe(file));

  it('has a description of every type, field, argument and value', () => {
    const undescribed: string[] = [];
    visit(parse(file), {
      enter: (node) => {
        if (node.kind === Kind.DIRECTIVE_DEFINITION || node.kind === Kind.SCHEMA_DEFINITION) return false;
        if (!/^(\w+TypeDefinition|\w+ValueDefinition|FieldDefinition)$/.test(node.kind)) return undefined;
        const { name, description } = node as FieldDefinitionNode;
        if ((description?.value ?? '').trim() === '') undescribed.push(name.value);
        return undefined;
      },
    });
    expect(undescribed).toEqual([]);
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
