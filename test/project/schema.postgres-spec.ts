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
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });

  afterAll(() => service.stop());

  it('is the one in the file', async () => {
    const authorization = await service.serviceAccount('read');
    const { data, errors } = await service.query(getIntrospectionQuery({ inputValueDeprecation: true }), {
      authorization,
    });
    expect(errors).toEqual([]);
    const served = buildClientSchema(data as unknown as IntrospectionQuery);
    expect(`${printSchema(lexicographicSortSchema(served))}\n`).toBe(readFileSync('schema.graphql', 'utf8'));
  });
});
