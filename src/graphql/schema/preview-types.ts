import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  getNamedType,
  type GraphQLFieldConfig,
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

type FieldConfig = GraphQLFieldConfig<unknown, unknown>;

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
  const payloads = new Set(
    Object.values(schema.getMutationType()?.getFields() ?? {}).map(({ type }) => getNamedType(type).name),
  );
  const previews = new PreviewTypes();
  return mapSchema(schema, {
    [MapperKind.OBJECT_TYPE]: (type) => (payloads.has(type.name) ? previews.payloadOf(type) : type),
  });
}

class PreviewTypes {
  private readonly known = new Map<string, GraphQLObjectType>();

  /** The payload with previews of its objects. */
  payloadOf(type: GraphQLObjectType): GraphQLObjectType {
    return new GraphQLObjectType({ ...type.toConfig(), fields: () => this.fieldsOf(type) });
  }

  private fieldsOf(type: GraphQLObjectType): GraphQLFieldConfigMap<unknown, unknown> {
    const fields = Object.entries(type.toConfig().fields as Record<string, FieldConfig>);
    return Object.fromEntries(
      fields.map(([name, field]) => [name, { ...field, type: this.previewIn(field.type) }]),
    );
  }

  private previewIn(type: GraphQLOutputType): GraphQLOutputType {
    if (isNonNullType(type)) return new GraphQLNonNull(this.previewIn(type.ofType));
    if (isListType(type)) return new GraphQLList(this.previewIn(type.ofType));
    if (isAbstractType(type)) throw new Error(`${type.name} is below a payload and has no type for previews`);
    return isObjectType(type) && leadsToNode(type) ? this.previewOf(type) : type;
  }

  private previewOf(type: GraphQLObjectType): GraphQLObjectType {
    const known = this.known.get(type.name);
    if (known !== undefined) return known;
    const config = type.toConfig();
    const name = previewName(type.name);
    const preview = new GraphQLObjectType({
      ...config,
      name,
      description: `${config.description ?? ''} It has the values after a previewed change, and is not a \`${type.name}\`.`,
      interfaces: [],
      extensions: { ...config.extensions, previewOf: type.name },
      fields: () => {
        const fields = this.fieldsOf(type);
        return isNode(type) ? { ...fields, nodeId: nodeIdIn(name, fields['nodeId']) } : fields;
      },
    });
    this.known.set(type.name, preview);
    return preview;
  }
}

/** `GroupConnection` becomes `GroupPreviewConnection`, and `User` becomes `UserPreview`. */
function previewName(name: string): string {
  return name.replace(/(?=(?:Connection|Edge)$)|$/, 'Preview');
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

function nodeIdIn(name: string, field: FieldConfig | undefined): FieldConfig {
  if (field === undefined) throw new Error(`${name} has no nodeId`);
  return {
    ...field,
    description: NODE_ID,
    resolve: (object) => nodeIdOf(name, (object as { entryUuid: string }).entryUuid),
  };
}
