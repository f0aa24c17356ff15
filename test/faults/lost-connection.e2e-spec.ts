import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

describe('a connection to the database that was lost', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start({ ldif: buildLdif([{ id: 'anna', name: 'Anna' }]) });
  });

  afterAll(() => service.stop());

  /** Breaks a connection off after these statements, in the middle of whatever they began. */
  async function loseConnection(...statements: string[]): Promise<void> {
    const { master: pool } = service.app.get(DataSource).driver as unknown as { master: Pool };
    const client = await pool.connect();
    for (const statement of statements) await client.query(statement);
    client.release(true);
  }

  it('is replaced by one that gives the same answers, however often', async () => {
    const authorization = await service.serviceAccount('read');
    for (let times = 0; times < 20; times++) {
      await loseConnection();
      const { data, errors } = await service.query('{ user(user: {id: "anna"}) { name } }', {
        authorization,
      });
      expect({ data, errors }).toEqual({ data: { user: { name: 'Anna' } }, errors: [] });
    }
  });

  it('leaves nothing of the transaction that it was in', async () => {
    const authorization = await service.serviceAccount('read');
    await loseConnection('begin', 'delete from users');
    const { data, errors } = await service.query('{ user(user: {id: "anna"}) { name } }', { authorization });
    expect({ data, errors }).toEqual({ data: { user: { name: 'Anna' } }, errors: [] });
  });
});
