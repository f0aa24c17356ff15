import {
  getArgumentValues,
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { type Access, decideAccess, scopesOf } from '../../auth/access.js';
import { scopeNeeded } from '../../auth/authentication.error.js';
import { grantedScopes, type Principal } from '../../auth/principal.js';
import { ServiceError } from '../../common/errors.js';
import { type SelectedField, selectedAmong, type Variables } from './operation.js';

/** The access that a member of an input requires. Members that select by the value of a field require that of the field. */
function accessOfInput({ extensions }: GraphQLInputField): Access | undefined {
  return extensions['access'] as Access | undefined;
}

/**
 * Rejects operations whose arguments select or order by a field that the token cannot read: the result would show its
 * values. The arguments are valid.
 * @throws ServiceError INSUFFICIENT_SCOPE
 */
export function refuseGuardedInputs(
  fields: Map<string, SelectedField>,
  variables: Variables,
  principal: Principal | null,
): void {
  for (const { field, nodes, children } of selectedAmong(fields, variables)) {
    const [node] = nodes;
    if (node !== undefined && field.args.some(({ type }) => hasGuards(type))) {
      const given = getArgumentValues(field, node, variables);
      for (const { name, type } of field.args) refuse(type, given[name], principal);
    }
    refuseGuardedInputs(children, variables, principal);
  }
}

function refuse(declared: GraphQLInputType, value: unknown, principal: Principal | null): void {
  const type = getNullableType(declared);
  if (value === null || value === undefined) return;
  if (isListType(type)) {
    for (const each of [value].flat()) refuse(type.ofType, each, principal);
    return;
  }
  if (!isInputObjectType(type)) return;
  for (const member of Object.values(type.getFields())) {
    const given = (value as Readonly<Record<string, unknown>>)[member.name];
    const access = accessOfInput(member);
    if (given === undefined || given === null) continue;
    if (access !== undefined && decideAccess(access, principal) !== 'granted') {
      const requiredScopes = scopesOf(access);
      const message = scopeNeeded(`The input ${type.name}.${member.name}`, requiredScopes);
      const details = { argument: member.name, requiredScopes, grantedScopes: grantedScopes(principal) };
      throw new ServiceError('INSUFFICIENT_SCOPE', message, details);
    }
    refuse(member.type, given, principal);
  }
}

const guarded = new WeakMap<GraphQLNamedType, boolean>();

/** Whether a member of an input, at any depth, requires access. */
function hasGuards(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return false;
  let found = guarded.get(named);
  if (found === undefined) {
    // An input that contains itself adds nothing.
    guarded.set(named, false);
    const members = Object.values(named.getFields());
    found = members.some((member) => accessOfInput(member) !== undefined || hasGuards(member.type));
    guarded.set(named, found);
  }
  return found;
}
