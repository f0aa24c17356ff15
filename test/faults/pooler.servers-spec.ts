import { buildLdif } from '../support/builders/directory.js';
import { dataOf, post } from '../support/clients/http.js';
import { eventually } from '../support/eventually.js';
import { TestPgBouncer } from '../support/servers/pgbouncer.js';
import { TestService } from '../support/servers/service.js';
import { createDatabase } from '../support/servers/store.js';

it('behind a PgBouncer that pools sessions, the service follows the directory and answers', async () => {
  const database = await createDatabase();
  const bouncer = await TestPgBouncer.start();
  const service = await TestService.start({
    ldif: buildLdif([{ id: 'anna', name: 'Anna 1' }]),
    environment: { DATABASE_URL: bouncer.through(database.url) },
    compared: false,
  });
  try {
    const authorization = await service.serviceAccount('read');
    const query = '{ user(user: {id: "anna"}) { name } }';
    const read = async () => dataOf(await post(service, { query }, { authorization }));
    for (let time = 0; time < 3; time++) expect(await read()).toEqual({ user: { name: 'Anna 1' } });
    service.replaceDirectory(buildLdif([{ id: 'anna', name: 'Anna 2' }]));
    await eventually(read, { user: { name: 'Anna 2' } });
  } finally {
    await service.stop();
    await bouncer.stop();
    await database.drop();
  }
});
