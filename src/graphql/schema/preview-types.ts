import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  getNamedType,
  type GraphQLFieldConfigMap,
  GraphQLList,
  type GraphQLNamedType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isAbstractType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { nodeIdOf } from '../../common/identity.js';

const NODE_ID =
  'Identifies the preview of the object. It is not the `nodeId` of the object, and no query finds it, so that a cache keeps the ' +
  'two apart. Opaque.';

/** The name that the type of an object has where the object is not below a preview. */
export function nameOfOriginal({ name, extensions }: Pick<GraphQLNamedType, 'name' | 'extensions'>): string {
  return (extensions['previewOf'] as string | undefined) ?? name;
}

/**
 * Gives the objects below the payloads of mutations types of their own. A normalizing cache stores an object by its type and
 * identity, and would otherwise show previewed values as those of the directory. The types have the same fields, resolved by the
 * same code.
 */
export function addPreviewTypes(schema: GraphQLSchema): GraphQLSchema {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const payloads = new Set(mutations.map(({ type }) => getNamedType(type).name));
  const previews = new Map<string, GraphQLObjectType>();
  const previewIn = (type: GraphQLOutputType): GraphQLOutputType => {
    if (isNonNullType(type)) return new GraphQLNonNull(previewIn(type.ofType));
    if (isListType(type)) return new GraphQLList(previewIn(type.ofType));
    if (isAbstractType(type)) throw new Error(`${type.name} is below a payload and has no type for previews`);
    if (!isObjectType(type) || !leadsToNode(type)) return type;
    const preview = previews.get(type.name) ?? previewOf(type);
    previews.set(type.name, preview);
    return preview;
  };
  const withPreviews = (fields: GraphQLFieldConfigMap<unknown, unknown>) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, { ...field, type: previewIn(field.type) }]),
    );
  const previewOf = (type: GraphQLObjectType): GraphQLObjectType => {
    const { description, extensions, fields, ...config } = type.toConfig();
    // `GroupConnection` becomes `GroupPreviewConnection`, and `User` becomes `UserPreview`.
    const name = type.name.replace(/(?=(?:Connection|Edge)$)|$/, 'Preview');
    const resolve = (object: unknown) => nodeIdOf(name, (object as { entryUuid: string }).entryUuid);
    const nodeId = isNode(type) && fields['nodeId'] && { ...fields['nodeId'], description: NODE_ID, resolve };
    return new GraphQLObjectType({
      ...config,
      name,
      description: `${description ?? ''} It has the values after a previewed change, and is not a \`${type.name}\`.`,
      interfaces: [],
      extensions: { ...extensions, previewOf: type.name },
      fields: () => withPreviews({ ...fields, ...(nodeId && { nodeId }) }),
    });
  };
  return mapSchema(schema, {
    [MapperKind.OBJECT_TYPE]: (type) => {
      if (!payloads.has(type.name)) return type;
      const { fields, ...config } = type.toConfig();
      return new GraphQLObjectType({ ...config, fields: withPreviews(fields) });
    },
  });
}

function isNode(type: GraphQLObjectType): boolean {
  return type.getInterfaces().some(({ name }) => name === 'Node');
}

/** Whether an object of the type is one with an identity, or has one in a field at any depth. */
function leadsToNode(type: GraphQLObjectType, seen = new Set<string>()): boolean {
  if (isNode(type)) return true;
  seen.add(type.name);
  return Object.values(type.getFields()).some((field) => {
    const named = getNamedType(field.type);
    return isObjectType(named) && !seen.has(named.name) && leadsToNode(named, seen);
  });
}
