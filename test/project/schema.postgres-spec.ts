import { readFileSync } from 'node:fs';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { readConfig } from '../../src/config/config.js';
import { buildSdl } from '../../src/schema.js';
import { dataOf, type Listening, post, send } from '../support/clients/http.js';
import { TestService } from '../support/servers/service.js';
import { TwinService } from '../support/twin.js';

const SDL = '/graphql/v1/schema.graphql';
const FILE = readFileSync('schema.graphql', 'utf8');

const service = TestService.forSuite({
  ldif: readFileSync('sample/directory.ldif', 'utf8'),
  environment: { DIRECTORY_MODEL: 'sample/model.yaml' },
  compared: false,
});
/** A service with the built-in model. */
let builtIn: TwinService;

beforeAll(async () => {
  builtIn = await TwinService.start(service, { DIRECTORY_MODEL: '' });
});

afterAll(() => builtIn.stop());

/** Introspection contains no applied directives. */
async function expectIntrospected(from: Listening, sdl: string): Promise<void> {
  const query = getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true, specifiedByUrl: true });
  const data = dataOf(await post(from, { query })) as unknown as IntrospectionQuery;
  const [served, written] = [buildClientSchema(data), buildSchema(sdl)].map((schema) =>
    printSchema(lexicographicSortSchema(schema)),
  );
  expect(served).toBe(written);
}

describe('the schema of a running service', () => {
  it('is the text of the file, which may be cached', async () => {
    const { status, headers, body } = await send(builtIn, { path: SDL });
    expect([status, body]).toEqual([200, FILE]);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=300',
    });
    await expectIntrospected(builtIn, FILE);
  });

  it('has the fields, references and filters of a model file, and is what introspection and the command return', async () => {
    const { body } = await send(service, { path: SDL });
    expect(body).toBe(await buildSdl(readConfig({ DIRECTORY_MODEL: 'sample/model.yaml' })));
    const fields = ['manager: User', 'phone: String', 'mobiles: [String!]', 'reports(', 'room: StringFilter'];
    for (const field of [...fields, 'input IntFilter {']) {
      expect(body).toContain(field);
      expect(FILE).not.toContain(field);
    }
    await expectIntrospected(service, body);
  });
});
