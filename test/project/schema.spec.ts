import { readFileSync } from 'node:fs';
import { buildSchema, getNamedType, isNonNullType, isInterfaceType, isObjectType } from 'graphql';
import { readConfig } from '../../src/config/config.js';
import { buildSdl } from '../../src/schema.js';
import { contractElementsOf } from '../support/builders/schema-coordinates.js';

describe('the schema', () => {
  const file = readFileSync('schema.graphql', 'utf8');
  const schema = buildSchema(file);

  it('that the classes build matches the file', async () => expect(await buildSdl()).toBe(file));

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
