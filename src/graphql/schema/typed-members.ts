import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { Extensions } from '@nestjs/graphql';
import {
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLInterfaceType,
  GraphQLNonNull,
  getNullableType,
  GraphQLObjectType,
  GraphQLSchema,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import type { Access } from '../../auth/access.js';

/** Types that each have the fields of one kind of the objects of a type, and their interface, which the type has too. */
interface TypedMembers<Model> {
  readonly interface: {
    readonly name: string;
    readonly description: string;
    readonly fields: readonly string[];
  };
  /** The field of the type that returns the same object as one of the types. */
  readonly field: { readonly name: string; readonly description: string };
  /** The types by name. A field is never null if its name ends with an exclamation mark. */
  readonly types: Readonly<
    Record<string, { readonly description: string; readonly fields: readonly string[] }>
  >;
  readonly typeOf: (object: Model) => string;
}

/** Declares typed members of the class. The schema adds them. */
export function DeriveTypes<Model>(members: TypedMembers<Model>): ClassDecorator {
  return Extensions({ typedMembers: members });
}

/** Adds the types of typed members. Their fields are those of the type, resolved by the same code. */
export function addTypedMembers(schema: GraphQLSchema): GraphQLSchema {
  const { types, ...config } = schema.toConfig();
  const added = types.flatMap((type) => (isObjectType(type) ? typesOf(type) : []));
  return mapSchema(new GraphQLSchema({ ...config, types: [...types, ...added] }), {
    [MapperKind.OBJECT_TYPE]: (type) => {
      const members = membersOf(type);
      const shared = added.find(({ name }) => name === members?.interface.name);
      return members === undefined || !isInterfaceType(shared) ? type : withMembers(type, members, shared);
    },
  });
}

function membersOf({ extensions }: GraphQLObjectType): TypedMembers<unknown> | undefined {
  return extensions['typedMembers'] as TypedMembers<unknown> | undefined;
}

function typesOf(type: GraphQLObjectType): (GraphQLInterfaceType | GraphQLObjectType)[] {
  const members = membersOf(type);
  if (members === undefined) return [];
  const { fields: own } = type.toConfig();
  const { fields: shared } = members.interface;
  const { typeOf: resolveType } = members;
  const all = new GraphQLInterfaceType({ ...members.interface, fields: pick(own, shared), resolveType });
  const typed = Object.entries(members.types).map(
    ([name, { description, fields }]) =>
      new GraphQLObjectType({
        name,
        description,
        interfaces: [all],
        fields: pick(own, [...shared, ...fields]),
      }),
  );
  return [all, ...typed];
}

function withMembers(
  type: GraphQLObjectType,
  { field: { name, description } }: TypedMembers<unknown>,
  shared: GraphQLInterfaceType,
): GraphQLObjectType {
  const { interfaces, fields, ...config } = type.toConfig();
  const extensions = { access: { kind: 'inherited' } satisfies Access };
  const field: GraphQLFieldConfig<unknown, unknown> = {
    type: new GraphQLNonNull(shared),
    description,
    extensions,
    resolve: (object) => object,
  };
  return new GraphQLObjectType({
    ...config,
    interfaces: [...interfaces, shared],
    fields: { ...fields, [name]: field },
  });
}

type Fields = GraphQLFieldConfigMap<unknown, unknown>;

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.map((each) => {
      const name = each.replace('!', '');
      const field = fields[name] as GraphQLFieldConfig<unknown, unknown>;
      const type = name === each ? field.type : new GraphQLNonNull(getNullableType(field.type));
      return [name, { ...field, type }];
    }),
  );
}
