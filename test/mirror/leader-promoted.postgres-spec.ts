import { eventually } from '../support/eventually.js';
import { directoryOfVersion, LEADER_LOCK, Observer } from '../support/servers/leaders.js';
import { TestProxy } from '../support/servers/proxy.js';
import { endConnections, ReplicatedPostgres } from '../support/servers/replicated-postgres.js';
import { TestService } from '../support/servers/service.js';

it('applies nothing on a promoted standby with the number and the lock of the former primary', async () => {
  const servers = await ReplicatedPostgres.start();
  const { primary, standby } = servers;
  const target = { host: '127.0.0.1', port: primary.port };
  const proxy = await TestProxy.start(target);
  const service = await TestService.start({
    ldif: directoryOfVersion(1),
    environment: { DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/directory` },
    compared: false,
  });
  const isOfService = `pid <> pg_backend_pid() and application_name <> 'observer'`;
  const named = (server: { url(database: string): string }) =>
    Observer.open(`${server.url('directory')}?application_name=observer`);
  const [old, promoted] = await Promise.all([named(primary), named(standby)]);
  try {
    await eventually(() => promoted.contents(), { name: 'Anna 1', revisions: 1 });
    await standby.promote();
    // New connections lead to the promoted server; the session with the lock stays on the old one.
    target.port = standby.port;
    const holdsLock = `pid in (select pid from pg_locks where locktype = 'advisory' and objid = ${LEADER_LOCK})`;
    await endConnections(primary, `${isOfService} and not ${holdsLock}`);
    expect(await old.leaderSession()).not.toBeNull();
    expect(await promoted.leaderSession()).toBeNull();
    const before = await promoted.leader();
    service.replaceDirectory(directoryOfVersion(2));
    await eventually(() => promoted.contents(), { name: 'Anna 2', revisions: 2 });
    expect(await promoted.leader()).toBe(before + 1);
    expect(await promoted.leaderSession()).not.toBeNull();
    // The former primary may have the revision as well, but no connection reads it.
    expect(await old.leaderSession()).toBeNull();
  } finally {
    await old.close();
    await promoted.close();
    await service.stop();
    await proxy.stop();
    await servers.stop();
  }
});
