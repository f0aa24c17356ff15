import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { buildLdif } from '../support/builders/directory.js';
import { TestService } from '../support/servers/service.js';

const QUERY = '{ user(user: {id: "anna"}) { name } }';

describe('a lost connection to the database', () => {
  const service = TestService.forSuite({ ldif: buildLdif([{ id: 'anna', name: 'Anna' }]) });

  /** Closes a connection after these statements, in the middle of their transaction. */
  async function loseConnection(...statements: string[]): Promise<void> {
    const { master: pool } = service.app.get(DataSource).driver as unknown as { master: Pool };
    const client = await pool.connect();
    for (const statement of statements) await client.query(statement);
    client.release(true);
  }

  it('is replaced by one that returns the same responses, repeatedly', async () => {
    const authorization = await service.serviceAccount('read');
    for (let times = 0; times < 20; times++) {
      await loseConnection();
      expect(await service.read(QUERY, { authorization })).toEqual({ user: { name: 'Anna' } });
    }
  });

  it('leaves nothing of its transaction', async () => {
    const authorization = await service.serviceAccount('read');
    await loseConnection('begin', 'delete from users');
    expect(await service.read(QUERY, { authorization })).toEqual({ user: { name: 'Anna' } });
  });
});
