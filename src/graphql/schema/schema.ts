import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  getNamedType,
  type GraphQLField,
  type GraphQLFieldConfig,
  GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { type Access, decideAccess, scopesOf } from '../../auth/access.js';
import { scopeNeeded } from '../../auth/authentication.error.js';
import { grantedScopes, type Principal } from '../../auth/principal.js';
import { ServiceError } from '../../common/errors.js';
import { isConnection, unboundedSize } from '../analysis/operation-cost.js';
import type { Config } from '../../config/config.js';
import { describeAccess } from './access-directive.js';
import { addDerivedFields } from './derived-fields.js';
import { addPreviewTypes } from './preview-types.js';
import type { RequestContext } from '../http/request-context.js';
import { asPreview } from './user-errors.js';

const MUTATION =
  'The previews of changes. Each returns the state after the change and the LDIF that an administrator ' +
  'applies. Nothing is stored.';

/** The name that Nest gives to the default resolver of a field. */
const DEFAULT_RESOLVER = 'rootFieldResolver';

/** Adds to the schema that Nest has built what it derives from the model, and from other types. */
export function extendSchema(built: GraphQLSchema, config: Config): GraphQLSchema {
  return addPreviewTypes(addDerivedFields(built, config));
}

/** Finishes the schema that Nest has built. Throws if a field declares no access, or could return any number of objects. */
export function finishSchema(built: GraphQLSchema): GraphQLSchema {
  const problems = undeclaredFields(built);
  if (problems.length > 0) throw new Error(`The schema is not complete:\n${problems.join('\n')}`);
  return describeAccess(
    mapSchema(built, {
      [MapperKind.QUERY]: (query) => describe(query, 'The queries of the service.'),
      [MapperKind.MUTATION]: (mutation) => describe(mutation, MUTATION),
      [MapperKind.OBJECT_FIELD]: withoutDefaultResolver,
      [MapperKind.MUTATION_ROOT_FIELD]: (field) =>
        field.resolve === undefined ? field : { ...field, resolve: asPreview(field.resolve) },
    }),
  );
}

/** Adds the description of a root type. No class declares these types. */
function describe(root: GraphQLObjectType, description: string): GraphQLObjectType {
  return new GraphQLObjectType({ ...root.toConfig(), description });
}

/** Removes the default resolver: graphql-js reads the property itself, without a call for each value. */
function withoutDefaultResolver(
  field: GraphQLFieldConfig<unknown, unknown>,
): GraphQLFieldConfig<unknown, unknown> {
  if (field.resolve?.name !== DEFAULT_RESOLVER) return field;
  const { resolve, ...rest } = field;
  return rest;
}

function undeclaredFields(schema: GraphQLSchema): string[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type));
  const fieldsOf = (type: GraphQLObjectType) => Object.values(type.getFields());
  const pages = types.flatMap(fieldsOf).filter(isConnection);
  const pageTypes = new Set(pages.map(({ type }) => getNamedType(type).name));
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return types
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) =>
      fieldsOf(type).flatMap((field) =>
        [unboundedSize(field, pageTypes.has(type.name)), accessProblem(field, roots.includes(type))].flatMap(
          (problem) => (problem === null ? [] : [`${type.name}.${field.name} ${problem}`]),
        ),
      ),
    );
}

function accessProblem({ type, extensions }: GraphQLField<unknown, unknown>, isRoot: boolean): string | null {
  const access = extensions['access'] as Access | undefined;
  if (access === undefined)
    return 'does not say what a token needs: @Public, @RequireToken, @RequireScopes or @InheritAccess';
  if (access.kind === 'inherited' && isRoot)
    return 'is a root field and has nothing to inherit its access from';
  return access.kind === 'scopes' && isNonNullType(type)
    ? 'needs a scope and must be nullable, so that the rest of an answer survives without it'
    : null;
}

/** The schema for tokens with the scopes of a principal, in which all other fields are null, and note where they occur. */
export function scopedSchema(whole: GraphQLSchema, principal: Principal): GraphQLSchema {
  return mapSchema(whole, {
    [MapperKind.OBJECT_FIELD]: (field: GraphQLFieldConfig<unknown, RequestContext>, name, type) => {
      const access = field.extensions?.['access'] as Access;
      if (decideAccess(access, principal) === 'granted') return field;
      const requiredScopes = scopesOf(access);
      const message = scopeNeeded(`The field ${type}.${name}`, requiredScopes);
      const details = { requiredScopes, grantedScopes: grantedScopes(principal) };
      const error = new ServiceError('INSUFFICIENT_SCOPE', message, details);
      return {
        ...field,
        resolve: (_source: unknown, _given: unknown, context: RequestContext, info: GraphQLResolveInfo) =>
          context.withhold(error, info),
      };
    },
  });
}
