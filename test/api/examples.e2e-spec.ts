import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { examplesFor } from '../../web/explorer/source/examples.js';
import {
  makeAskers,
  type Principals,
  REFERENCE_EXAMPLES,
  steady,
  writeAnswer,
} from '../support/builders/examples.js';
import { dataOf, post } from '../support/clients/http.js';
import { schema } from '../support/clients/scope-walk.js';
import { TestService } from '../support/servers/service.js';
import { variable } from '../support/servers/store.js';

const service = TestService.forSuite(() => ({
  ldif: readFileSync('sample/directory.ldif', 'utf8'),
  logged: true,
  environment: {
    DIRECTORY_MODEL: 'sample/model.yaml',
    AUTH_EMBEDDED_CLIENTS: writeClients(),
    LIMIT_POINTS_PER_HOUR: '5000',
  },
  compared: false,
}));

/** The clients of the sample, and one that acts for Anna Svensson with a scope of the model. */
function writeClients(): string {
  const clients = JSON.parse(readFileSync('sample/clients.json', 'utf8')) as object[];
  const file = join(mkdtempSync(join(variable('TEST_WORK_DIRECTORY'), 'clients-')), 'clients.json');
  const scope = 'profile read write contact';
  const anna = { client_id: 'anna', client_secret: 'anna-secret', scope, owner: 'anna.svensson' };
  writeFileSync(file, JSON.stringify([...clients, { ...anna, grant_types: ['client_credentials'] }]));
  return file;
}

describe('an example of the reference', () => {
  let principals: Principals;

  beforeAll(async () => {
    principals = await makeAskers(service);
  });

  it('exists for every query and mutation', () => {
    const roots = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
    expect(REFERENCE_EXAMPLES.map(({ name }) => name).sort()).toEqual(roots.sort());
  });

  it.each(REFERENCE_EXAMPLES)('has the current response: $name', async (example) => {
    const { document, variables, as } = example;
    const body = { query: document, variables };
    const answer = dataOf(await post(service, body, as === null ? {} : principals[as]));
    if (process.env['WRITE_EXAMPLES'] === '1') writeAnswer(example, answer, service.config);
    else expect(steady(answer)).toEqual(steady(example.answer));
  });
});

describe('the examples of the explorer', () => {
  let inside: { authorization: string };
  let outside: { authorization: string };

  beforeAll(async () => {
    inside = { authorization: await service.accessToken('profile read write contact', 'anna') };
    outside = { authorization: await service.serviceAccount('read', 'contact') };
  });

  const examples = examplesFor({
    customFields: ['jobTitle', 'phone', 'mobiles', 'manager', 'reports']
      .map((name) => `User.${name}`)
      .concat('Group.room'),
    isSample: true,
  }).map(({ query, variables = '{}' }) => ({
    name: /^(?:query|mutation) (\w+)/m.exec(query)?.[1] ?? '',
    body: { query, variables: JSON.parse(variables) as Record<string, unknown> },
  }));
  const bodyOf = (wanted: string) => examples.find(({ name }) => name === wanted)?.body ?? { query: '' };

  it.each(examples)('have responses without errors: $name', async ({ body }) => {
    expect(dataOf(await post(service, body, inside))).toBeInstanceOf(Object);
  });

  it('show custom fields and both sides of a reference', async () => {
    const { search } = dataOf(await post(service, bodyOf('Reports'), outside)) as {
      search: { nodes: object[] };
    };
    expect(search.nodes[0]).toEqual({
      __typename: 'User',
      name: 'Antoine Dubœuf',
      jobTitle: 'Head of Library',
      phone: expect.stringMatching(/^\+49 30 23125 \d{3}$/) as string,
      manager: { name: 'Marguerite Lefèvre' },
      reports: {
        totalCount: 7,
        nodes: Array.from({ length: 3 }, () => ({
          name: expect.any(String) as string,
          jobTitle: 'Librarian',
        })),
      },
    });
  });

  it('show what a viewer outside does not see', async () => {
    const seen = dataOf(await post(service, bodyOf('Audiences'), inside));
    const mobiles = {
      user: { name: expect.any(String) as string, mobiles: [expect.stringMatching(/^\+49/) as string] },
    };
    expect(seen).toMatchObject({
      hiddenGroup: { totalCount: 1 },
      hiddenPerson: { totalCount: 1 },
      groups: {
        nodes: [
          { room: 'D 204', members: { totalCount: 19, nodes: expect.arrayContaining([mobiles]) as unknown } },
        ],
      },
    });
    const { data, errors } = JSON.parse((await post(service, bodyOf('Audiences'), outside)).body) as {
      data: unknown;
      errors: { path: unknown[]; extensions: { code: string } }[];
    };
    expect(data).toMatchObject({
      hiddenGroup: { totalCount: 0 },
      hiddenPerson: { totalCount: 0 },
      groups: { nodes: [{ room: 'D 204', members: null }] },
    });
    expect(errors.map(({ path, extensions }) => [path.at(-1), extensions.code])).toEqual([
      ['members', 'FORBIDDEN'],
    ]);
  });
});
