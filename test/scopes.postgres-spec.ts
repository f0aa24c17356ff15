import { GraphQLSchemaHost } from '@nestjs/graphql';
import { isObjectType } from 'graphql';
import type { Access } from '../src/auth/access.js';
import { type Scope, SCOPES } from '../src/auth/scopes.js';
import { writeClients } from './support/clients.js';
import {
  flatten,
  printSelection,
  type Step,
  valuesAt,
  walkMutations,
  walkQueries,
} from './support/schema-walk.js';
import { argumentsOf, LDIF, NEEDED, schema } from './support/scope-walk.js';
import { type Answer, TestService } from './support/service.js';

/** Root fields that need no token. */
const PUBLIC = ['Query.directoryStatus', 'Query.rateLimit', 'Query.buildInfo'];

const SUBSETS = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
  SCOPES.filter((_scope, index) => (bits & (1 << index)) !== 0),
);

const BY_NAME = SUBSETS.map((scopes) => ({ scopes, name: scopes.join(' ') || 'no scope' }));

/** The contract asks for four levels; six are those at which a person's groups have members. */
const DEPTH = 6;

const tree = walkQueries(schema, DEPTH);
const everywhere = flatten(tree);
const mutations = walkMutations(schema, 5);
const roots = [...walkQueries(schema, 1), ...walkMutations(schema, 1)];

/** An operation of one root field. */
function printRoot(step: Step): string {
  const operation = step.coordinate.startsWith('Mutation.') ? 'mutation' : 'query';
  return `${operation} ${printSelection([step], argumentsOf)}`;
}

/** The highest fields of the tree that these scopes do not reach, and with them all that is below. */
function withheldIn(steps: readonly Step[], scopes: readonly Scope[]): Step[] {
  return steps.flatMap((step) =>
    (NEEDED[step.coordinate] ?? []).every((scope) => scopes.includes(scope))
      ? withheldIn(step.children, scopes)
      : [step],
  );
}

interface ScopeError {
  message: string;
  path?: (string | number)[];
}

function expectedError({ coordinate, path }: Step): ScopeError {
  const needed = NEEDED[coordinate]?.join(' and ') ?? '';
  return {
    message: `The field ${coordinate} is not accessible with this token: it needs the ${needed.includes(' ') ? 'scopes' : 'scope'} ${needed}.`,
    path: [...path],
  };
}

/** The path says in which row a field was withheld first; here it counts that it is one error. */
function withoutIndices({ message, path = [] }: ScopeError): ScopeError {
  return { message, path: path.filter((key) => typeof key === 'string') };
}

function byText(left: ScopeError, right: ScopeError): number {
  return JSON.stringify(left).localeCompare(JSON.stringify(right));
}

describe('scopes', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start({
      ldif: LDIF,
      environment: {
        AUTH_EMBEDDED_CLIENTS: writeClients([
          { id: 'walker', owner: 'anna' },
          { id: 'bare', owner: 'anna', scopes: [] },
        ]),
        LIMIT_TOKENS: '100000',
      },
    });
  });

  afterAll(() => service.stop());

  /** A token that acts for Anna. */
  function tokenWith(scopes: readonly Scope[]): Promise<string> {
    return service.accessToken(scopes.join(' '), scopes.length > 0 ? 'walker' : 'bare');
  }

  function scopeErrors({ errors }: Pick<Answer, 'errors'>) {
    return errors.filter(({ extensions }) => extensions.code === 'INSUFFICIENT_SCOPE');
  }

  it('are asked for by exactly the fields that the contract names', () => {
    const asked = Object.values(service.app.get(GraphQLSchemaHost).schema.getTypeMap())
      .filter(isObjectType)
      .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
      .flatMap(({ type, field }): [string, readonly Scope[]][] => {
        const access = field.extensions['access'] as Access | undefined;
        return access?.kind === 'scopes' ? [[`${type.name}.${field.name}`, access.scopes]] : [];
      });
    expect(Object.fromEntries(asked)).toEqual(NEEDED);
  });

  it('let a token with all of them read rows in every list and an object behind every field', async () => {
    const { status, data, errors } = await service.query(printSelection(tree, argumentsOf), {
      authorization: await tokenWith(SCOPES),
    });
    expect({ status, errors }).toEqual({ status: 200, errors: [] });
    const empty = everywhere.filter(({ path, isList, isComposite, coordinate }) => {
      if (!isList && !isComposite) return false;
      // A person's token is of no service account.
      if (coordinate === 'Query.currentServiceAccount' || coordinate.startsWith('ServiceAccount.'))
        return false;
      return valuesAt(data, path).every((value) => value === null);
    });
    expect(empty.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it.each(BY_NAME)(
    'withhold on every path, once a selection, what a token with $name does not reach',
    async ({ scopes }) => {
      const answer = await service.query(printSelection(tree, argumentsOf), {
        authorization: await tokenWith(scopes),
      });
      expect(answer.status).toBe(200);
      const withheld = withheldIn(tree, scopes);
      expect(scopeErrors(answer).map(withoutIndices).sort(byText)).toEqual(
        withheld.map(expectedError).sort(byText),
      );
      expect(
        withheld.flatMap(({ path }) => valuesAt(answer.data, path)).every((value) => value === null),
      ).toBe(true);
    },
  );

  it.each(BY_NAME)(
    'withhold the same from a service account with $name, which acts for nobody',
    async ({ scopes }) => {
      const shallow = walkQueries(schema, 4);
      const answer = await service.query(printSelection(shallow, argumentsOf), {
        authorization: await service.serviceAccount(...scopes),
      });
      const withheld = withheldIn(shallow, scopes);
      expect(
        scopeErrors(answer)
          .map(({ message }) => message)
          .sort(),
      ).toEqual(withheld.map((step) => expectedError(step).message).sort());
      expect(
        withheld.flatMap(({ path }) => valuesAt(answer.data, path)).every((value) => value === null),
      ).toBe(true);
    },
  );

  it.each(BY_NAME)(
    'let a token with $name preview what it reaches of the mutations, and run nothing else',
    async ({ scopes }) => {
      const answer = await service.query(`mutation ${printSelection(mutations, argumentsOf)}`, {
        authorization: await tokenWith(scopes),
      });
      if (!scopes.includes('write')) {
        expect([answer.status, answer.data]).toEqual([403, undefined]);
        return;
      }
      expect(answer.errors.filter(({ extensions }) => extensions.code !== 'INSUFFICIENT_SCOPE')).toEqual([]);
      const withheld = withheldIn(mutations, scopes);
      expect(
        scopeErrors(answer)
          .map(({ message }) => message)
          .sort(),
      ).toEqual(withheld.map((step) => expectedError(step).message).sort());
      for (const step of mutations) {
        const isWithheld = withheld.includes(step);
        expect([step.coordinate, valuesAt(answer.data, step.path)[0] === null]).toEqual([
          step.coordinate,
          isWithheld,
        ]);
      }
    },
  );

  it.each(BY_NAME)(
    'refuse with $name the whole request when no root field is reached',
    async ({ scopes }) => {
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
        expect(headers.get('www-authenticate')).toBe(
          `Bearer error="insufficient_scope", scope="${needed.join(' ')}"`,
        );
        expect(errors.map(({ extensions }) => extensions)).toMatchObject([
          { code: 'INSUFFICIENT_SCOPE', requiredScopes: needed, grantedScopes: scopes },
        ]);
      }
    },
  );

  it('need a token first: without one every field that is not public is answered with 401', async () => {
    for (const step of roots) {
      const { status, headers, errors } = await service.query(printRoot(step));
      const expected = PUBLIC.includes(step.coordinate)
        ? { status: 200, codes: [], challenge: null }
        : { status: 401, codes: ['UNAUTHENTICATED'], challenge: 'Bearer realm="directory"' };
      expect({
        field: step.coordinate,
        status,
        codes: errors.map(({ extensions }) => extensions.code),
        challenge: headers.get('www-authenticate'),
      }).toEqual({ field: step.coordinate, ...expected });
    }
  });

  it('name every one that would have helped in the challenge', async () => {
    const { status, headers, errors } = await service.query(
      '{ users(first: 1) { totalCount } groups(first: 1) { totalCount } }',
      { authorization: await tokenWith(['profile']) },
    );
    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="directory read"');
    expect(errors).toHaveLength(1);
    // users needs one of them and groups another: each is named.
    expect(errors[0]?.message).toMatch(/ Query\.users .*needs the scope.* Query\.groups .*needs the scope/);
  });

  it('are named to whoever comes without a token, with the field', async () => {
    const { status, errors } = await service.query(
      '{ buildInfo { version } users(first: 1) { totalCount } }',
    );
    expect(status).toBe(401);
    expect(errors).toMatchObject([
      {
        message: expect.stringMatching(/^The field Query\.users needs a token: /) as string,
        extensions: { code: 'UNAUTHENTICATED', requiredScopes: NEEDED['Query.users'] },
      },
    ]);
  });

  it('withhold a field from all rows with one error', async () => {
    const { data, errors } = await service.query(
      '{ users(first: 2) { nodes { groups(first: 3) { nodes { group { id members(first: 1) { totalCount } } } } } } }',
      { authorization: await tokenWith(['directory']) },
    );
    expect(valuesAt(data, ['users', 'nodes', 'groups', 'nodes', 'group', 'members'])).toEqual(
      Array.from({ length: 6 }, () => null),
    );
    expect(errors).toMatchObject([
      {
        message: 'The field Group.members is not accessible with this token: it needs the scope read.',
        path: ['users', 'nodes', 0, 'groups', 'nodes', 0, 'group', 'members'],
        extensions: {
          code: 'INSUFFICIENT_SCOPE',
          requiredScopes: ['read'],
          grantedScopes: ['directory'],
        },
      },
    ]);
  });
});
