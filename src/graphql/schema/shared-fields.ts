import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { Extensions } from '@nestjs/graphql';
import {
  type GraphQLField,
  type GraphQLFieldConfigMap,
  GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql';

/**
 * Declares that an interface of the type has every field that all types of the interface have, with the same type and
 * arguments. (Nest drops the extensions of interfaces.)
 */
export function ShareFields({ name }: { readonly name: string }): ClassDecorator {
  return Extensions({ sharedFields: name });
}

/** Adds the fields that types share to their interfaces, including derived fields. */
export function addSharedFields(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.INTERFACE_TYPE]: (type) => {
      const types = schema.getPossibleTypes(type);
      if (!types.some(({ extensions }) => extensions['sharedFields'] === type.name)) return type;
      return new GraphQLInterfaceType({ ...type.toConfig(), fields: fieldsSharedBy(types) });
    },
  });
}

function fieldsSharedBy([first, ...others]: readonly GraphQLObjectType[]): GraphQLFieldConfigMap<
  unknown,
  unknown
> {
  const fields = Object.values(first?.getFields() ?? {}).filter((field) =>
    others.every((other) => signatureOf(other.getFields()[field.name]) === signatureOf(field)),
  );
  const configs = first?.toConfig().fields ?? {};
  return Object.fromEntries(
    fields.map(({ name, type, description, deprecationReason }) => [
      name,
      { type, args: configs[name]?.args ?? {}, description, deprecationReason },
    ]),
  );
}

function signatureOf(field: GraphQLField<unknown, unknown> | undefined): string | null {
  if (field === undefined) return null;
  const given = field.args.map(({ name, type, defaultValue }) => [name, String(type), defaultValue]);
  return JSON.stringify([String(field.type), given]);
}
