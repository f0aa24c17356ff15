import { type Scope, SCOPES } from '../../src/auth/principal.js';
import { challengeOf } from '../support/clients/http.js';
import { writeClients } from '../support/clients/clients.js';
import {
  flatten,
  printSelection,
  placesAt,
  type SchemaStep,
  valuesAt,
  walkMutations,
  walkQueries,
} from '../support/clients/schema-walk.js';
import { argumentsOf, LDIF, NAMINGS, NEEDED, READING, schema } from '../support/clients/scope-walk.js';
import type { Answer } from '../support/clients/graphql.js';
import { sendPreviews } from '../support/clients/previews.js';
import { TestService } from '../support/servers/service.js';

/** Root fields that need no token. */
const PUBLIC = ['Query.directoryStatus', 'Query.rateLimit', 'Query.buildInfo'];

const SUBSETS: readonly (readonly Scope[])[] = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_scope, index) => (bits & (1 << index)) !== 0),
);

const BY_NAME = SUBSETS.map((scopes) => ({ scopes, name: scopes.join(' ') || 'no scope' }));

/** The contract requires a depth of four; at six, groups of users have members. */
const DEPTH = 6;

const tree = walkQueries(schema, DEPTH);
const everywhere = flatten(tree);
const mutations = walkMutations(schema, 5);
const roots = [...walkQueries(schema, 1), ...walkMutations(schema, 1)];

/** An operation with one root field. */
function printRoot(step: SchemaStep): string {
  const operation = step.coordinate.startsWith('Mutation.') ? 'mutation' : 'query';
  return `${operation} ${printSelection([step], argumentsOf)}`;
}

/** The highest fields that these scopes do not allow, together with all fields below. */
function withheldIn(steps: readonly SchemaStep[], scopes: readonly Scope[]): SchemaStep[] {
  return steps.flatMap((step) =>
    (NEEDED[step.coordinate] ?? []).every((scope) => scopes.includes(scope))
      ? withheldIn(step.children, scopes)
      : [step],
  );
}

interface ScopeError {
  message: string;
  path?: readonly (string | number)[];
}

/** The errors of a withheld field, one for each place where the response has it. */
function expectedErrors(data: unknown, { coordinate, path }: SchemaStep): ScopeError[] {
  const needed = NEEDED[coordinate]?.join(' and ') ?? '';
  const message = `The field ${coordinate} is not accessible with this token: it needs the scope ${needed.replace(' and ', ' and the scope ')}.`;
  return placesAt(data, path).map((place) => ({ message, path: place }));
}

function errorOf({ message, path = [] }: ScopeError): ScopeError {
  return { message, path };
}

function byText(left: ScopeError, right: ScopeError): number {
  return JSON.stringify(left).localeCompare(JSON.stringify(right));
}

/** The mutations of the walk whose arguments a token with these scopes cannot read, with that argument. */
function unreadableAmong(scopes: readonly Scope[]): [coordinate: string, argument: string][] {
  if (scopes.includes('read') || scopes.includes('directory')) return [];
  const members: [string, string][] = [
    ['Mutation.addGroupMember', 'user'],
    ['Mutation.updateGroupMember', 'user'],
    ['Mutation.removeGroupMember', 'user'],
  ];
  if (scopes.includes('profile')) return members;
  return [
    ['Mutation.createGroup', 'parent'],
    ['Mutation.updateGroup', 'group'],
    ['Mutation.deleteGroup', 'group'],
    ...members.map(([coordinate]): [string, string] => [coordinate, 'group']),
  ];
}

describe('scopes', () => {
  const service = TestService.forSuite({
    ldif: LDIF,
    logged: true,
    environment: {
      AUTH_EMBEDDED_CLIENTS: writeClients([
        { id: 'walker', owner: 'anna' },
        { id: 'bare', owner: 'anna', scopes: [] },
      ]),
      LIMIT_TOKENS: '100000',
      // The walk names every query.
      LIMIT_BODY_BYTES: '1000000',
    },
  });

  /** A token for Anna. */
  function tokenWith(scopes: readonly Scope[]): Promise<string> {
    return service.accessToken(scopes.join(' '), scopes.length > 0 ? 'walker' : 'bare');
  }

  function scopeErrors({ errors }: Pick<Answer, 'errors'>) {
    return errors.filter(({ extensions }) => extensions.code === 'INSUFFICIENT_SCOPE');
  }

  it('allow a token with all of them to read rows in every list and an object in every field', async () => {
    const { status, data, errors } = await service.query(printSelection(tree, argumentsOf), {
      authorization: await tokenWith(SCOPES),
    });
    expect({ status, errors }).toEqual({ status: 200, errors: [] });
    const empty = everywhere.filter(({ path, isList, isComposite, coordinate }) => {
      if (!isList && !isComposite) return false;
      if (coordinate === 'Query.node' || coordinate === 'Query.nodes') return false;
      // A user's token has no service account.
      if (coordinate === 'Query.currentServiceAccount' || coordinate.startsWith('ServiceAccount.'))
        return false;
      return valuesAt(data, path).every((value) => value === null);
    });
    expect(empty.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it.each(BY_NAME)(
    'withhold on every path, with an error for each place, the fields that $name does not allow',
    async ({ scopes }) => {
      const shallow = walkQueries(schema, 4);
      for (const [steps, authorization] of [
        [tree, await tokenWith(scopes)],
        // It has no user.
        [shallow, await service.serviceAccount(...scopes)],
      ] as const) {
        const answer = await service.query(printSelection(steps, argumentsOf), { authorization });
        expect(answer.status).toBe(200);
        const withheld = withheldIn(steps, scopes);
        expect(scopeErrors(answer).map(errorOf).sort(byText)).toEqual(
          withheld.flatMap((step) => expectedErrors(answer.data, step)).sort(byText),
        );
        expect(
          withheld.flatMap(({ path }) => valuesAt(answer.data, path)).filter((value) => value !== null),
        ).toEqual([]);
      }
    },
  );

  it.each(BY_NAME)(
    'allow a token with $name only those mutations whose arguments it can read',
    async ({ scopes }) => {
      const answer = await service.query(`mutation ${printSelection(mutations, argumentsOf)}`, {
        authorization: await tokenWith(scopes),
      });
      if (!scopes.includes('write')) {
        expect([answer.status, answer.data]).toEqual([403, undefined]);
        return;
      }
      expect(answer.errors.filter(({ extensions }) => extensions.code !== 'INSUFFICIENT_SCOPE')).toEqual([]);
      const unreadable = unreadableAmong(scopes);
      const withheld = withheldIn(mutations, scopes);
      expect(
        scopeErrors(answer)
          .map(({ message }) => message)
          .sort(),
      ).toEqual(
        [
          ...withheld.flatMap((step) => expectedErrors(answer.data, step).map(({ message }) => message)),
          ...unreadable.map(
            ([, argument]) =>
              `The argument ${argument} names an object that this token cannot read: it needs the scope read`,
          ),
        ].sort(),
      );
      for (const step of mutations) {
        const isRefused =
          withheld.includes(step) || unreadable.some(([coordinate]) => coordinate === step.coordinate);
        expect([step.coordinate, valuesAt(answer.data, step.path)[0] === null]).toEqual([
          step.coordinate,
          isRefused,
        ]);
      }
      const below = withheld.filter(({ path }) => path.length > 1);
      expect(below.flatMap(({ path }) => valuesAt(answer.data, path)).every((value) => value === null)).toBe(
        true,
      );
    },
  );

  describe.each(READING)('with write, and %s to read', (reading) => {
    const scopes: Scope[] = reading === 'nothing' ? ['write'] : [reading, 'write'];

    it.each(NAMINGS)('allow $mutation only arguments that the token can read', async (naming) => {
      const { status, data, errors } = await sendPreviews(
        service,
        `mutation { payload: ${naming.mutation} { clientMutationId preview { ldif } } }`,
        { authorization: await tokenWith(scopes) },
      );
      const outcome = naming.outcomes[reading];
      const [error] = errors;
      if (outcome === 'ok') expect([errors, data?.['payload']]).toEqual([[], expect.any(Object)]);
      else if (outcome === 'withheld')
        expect([status, data, error?.extensions.code]).toEqual([403, undefined, 'INSUFFICIENT_SCOPE']);
      else {
        const code = outcome === 'unreadable' ? 'INSUFFICIENT_SCOPE' : outcome;
        expect([status, data, errors.map(({ extensions }) => extensions.code)]).toEqual([
          200,
          { payload: null },
          [code],
        ]);
      }
    });
  });

  it('allow a service account, which has no profile, no arguments by the scopes profile and write', async () => {
    const authorization = await service.serviceAccount('profile', 'write');
    const unreadable = NAMINGS.filter(({ outcomes }) => outcomes.nothing === 'unreadable');
    expect(unreadable.length).toBeGreaterThan(20);
    for (const { mutation } of unreadable) {
      const { errors } = await service.query(`mutation { payload: ${mutation} { clientMutationId } }`, {
        authorization,
      });
      expect([mutation, errors.map(({ extensions }) => extensions)]).toMatchObject([
        mutation,
        [{ code: 'INSUFFICIENT_SCOPE', requiredScopes: ['read'], grantedScopes: ['profile', 'write'] }],
      ]);
    }
  });

  it.each(BY_NAME)('reject with $name the whole request if it can read no root field', async ({ scopes }) => {
    const authorization = await tokenWith(scopes);
    for (const step of roots) {
      const { status, headers, data, errors } = await service.query(printRoot(step), { authorization });
      const needed = NEEDED[step.coordinate] ?? [];
      const isReached = needed.every((scope) => scopes.includes(scope));
      expect({ field: step.coordinate, status }).toEqual({
        field: step.coordinate,
        status: isReached ? 200 : 403,
      });
      if (isReached) continue;
      expect(data).toBeUndefined();
      expect(challengeOf(headers.get('www-authenticate'))).toBe(
        `Bearer realm="directory", error="insufficient_scope", scope="${needed.join(' ')}"`,
      );
      expect(errors.map(({ extensions }) => extensions)).toMatchObject([
        { code: 'INSUFFICIENT_SCOPE', requiredScopes: needed, grantedScopes: scopes },
      ]);
    }
  });

  it('need a token: without one, each field that is not public causes 401', async () => {
    for (const step of roots) {
      const { status, headers, errors } = await service.query(printRoot(step));
      const expected = PUBLIC.includes(step.coordinate)
        ? { status: 200, codes: [], challenge: null }
        : { status: 401, codes: ['UNAUTHENTICATED'], challenge: 'Bearer realm="directory"' };
      expect({
        field: step.coordinate,
        status,
        codes: errors.map(({ extensions }) => extensions.code),
        challenge: challengeOf(headers.get('www-authenticate')),
      }).toEqual({ field: step.coordinate, ...expected });
    }
  });

  it('withhold a field from each row with an error', async () => {
    const { data, errors } = await service.query(
      '{ users(first: 2) { nodes { groups(first: 3) { nodes { group { id one: members(first: 1) { totalCount } } } } } } }',
      { authorization: await tokenWith(['directory']) },
    );
    const places = placesAt(data, ['users', 'nodes', 'groups', 'nodes', 'group', 'one']);
    expect(places).toHaveLength(6);
    const message = 'The field Group.members is not accessible with this token: it needs the scope read.';
    const [{ locations } = {}, second] = errors as { locations?: unknown }[];
    expect(locations).toHaveLength(1);
    expect(second?.locations).toEqual(locations);
    expect(
      errors.map(({ message: text, path, extensions }) => ({ message: text, path, extensions })),
    ).toEqual(
      places.map((path) => ({
        message,
        path,
        extensions: {
          code: 'INSUFFICIENT_SCOPE',
          requiredScopes: ['read'],
          grantedScopes: ['directory'],
          requestId: expect.any(String) as string,
        },
      })),
    );
  });
});
