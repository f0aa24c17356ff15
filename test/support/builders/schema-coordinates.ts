import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  print,
} from 'graphql';

/** An element of a schema, by its coordinate: `Type`, `Type.field`, `Type.field(argument:)`. */
export interface ContractElement {
  readonly coordinate: string;
  /** What clients rely on: the kind of a type, the type of a field, type and default of an argument. */
  readonly signature: string;
  readonly description: string | null | undefined;
}

/** All elements of a schema, except those of GraphQL itself. */
export function contractElementsOf(schema: GraphQLSchema): ContractElement[] {
  return Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(declarationsIn);
}

function declarationsIn(type: GraphQLNamedType): ContractElement[] {
  const { name, description } = type;
  const kind = type.constructor.name;
  const itself: ContractElement = { coordinate: name, signature: kind, description };
  if (isObjectType(type) || isInterfaceType(type)) {
    return [
      itself,
      ...Object.values(type.getFields()).flatMap((field) => {
        const coordinate = `${name}.${field.name}`;
        return [
          { coordinate, signature: String(field.type), description: field.description },
          ...field.args.map((argument) => inputDeclaration(`${coordinate}(${argument.name}:)`, argument)),
        ];
      }),
    ];
  }
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    return [
      itself,
      ...fields.map((field) => {
        const declared = inputDeclaration(`${name}.${field.name}`, field);
        // The member of a @oneOf input is never null.
        return type.isOneOf ? { ...declared, signature: `${declared.signature}!` } : declared;
      }),
    ];
  }
  if (isEnumType(type)) {
    const values = type.getValues();
    return [
      itself,
      ...values.map((value) => ({
        coordinate: `${name}.${value.name}`,
        signature: 'value',
        description: value.description,
      })),
    ];
  }
  if (isUnionType(type)) {
    return [{ ...itself, signature: `union of ${type.getTypes().map(String).sort().join(', ')}` }];
  }
  return [itself];
}

function inputDeclaration(coordinate: string, input: GraphQLArgument | GraphQLInputField): ContractElement {
  const value = input.defaultValue === undefined ? null : astFromValue(input.defaultValue, input.type);
  const signature = value ? `${String(input.type)} = ${print(value)}` : String(input.type);
  return { coordinate, signature, description: input.description };
}
