import { readFileSync } from 'node:fs';
import {
  buildClientSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { TestService } from '../support/servers/service.js';

describe('the schema of a running service', () => {
  const service = TestService.forSuite();

  it('matches the file', async () => {
    const authorization = await service.serviceAccount('read');
    const data = await service.read<IntrospectionQuery>(
      getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true }),
      {
        authorization,
      },
    );
    const served = buildClientSchema(data);
    expect(`${printSchema(lexicographicSortSchema(served))}\n`).toBe(readFileSync('schema.graphql', 'utf8'));
  });
});
