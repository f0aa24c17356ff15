import { readFileSync } from 'node:fs';
import {
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { TestService } from '../support/servers/service.js';

const FILE = readFileSync('schema.graphql', 'utf8');

describe('the schema of a running service', () => {
  const service = TestService.forSuite();

  it('is the text of the file', async () => {
    const authorization = await service.serviceAccount('read');
    const response = await fetch(`${service.url}/graphql/v1/schema.graphql`, { headers: { authorization } });
    expect(await response.text()).toBe(FILE);
  });

  it('matches the file in its introspection, which contains no applied directives', async () => {
    const authorization = await service.serviceAccount('read');
    const data = await service.read<IntrospectionQuery>(
      getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true, specifiedByUrl: true }),
      {
        authorization,
      },
    );
    const [served, written] = [buildClientSchema(data), buildSchema(FILE)].map((schema) =>
      printSchema(lexicographicSortSchema(schema)),
    );
    expect(served).toBe(written);
  });
});
