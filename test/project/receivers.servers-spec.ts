import { join } from 'node:path';
import { Change } from '../../src/changes/change.model.js';
import { deliver } from '../../src/webhooks/deliver.js';
import { WebhookReceiver } from '../support/clients/webhook-receiver.js';
import { eventually } from '../support/eventually.js';
import { findFreePort } from '../support/servers/postgres.mjs';
import { spawnBound } from '../support/spawn-bound.mjs';

const change = Object.assign(new Change(), {
  id: '1795406353960565',
  kind: 'USER_CREATED',
  at: new Date(),
  userId: 'anna',
});

describe('the receivers in examples/webhook', () => {
  it.each([
    ['node', 'receiver.mjs'],
    ['python3', 'receiver.py'],
  ])('take a change once, and reject other signatures: %s', async (command, file) => {
    const port = await findFreePort();
    const { SECRET: secret } = WebhookReceiver;
    const environment = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret };
    const child = spawnBound(command, [join('examples/webhook', file)], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const target = { id: 'one', url: `http://127.0.0.1:${port}/`, secret, scopes: [], allowPrivate: true };
    const { signal } = new AbortController();
    await eventually(() => deliver(target, change, signal), null);
    expect(await deliver(target, change, signal)).toBeNull();
    const other = `whsec_${Buffer.alloc(32, 'another secret').toString('base64')}`;
    expect(await deliver({ ...target, secret: other }, change, signal)).toBe('it answers 400');
    expect(await deliver({ ...target, allowPrivate: false }, change, signal)).toBe('its address is private');
    await eventually(() => Promise.resolve(output.trim()), 'USER_CREATED anna');
    child.kill('SIGKILL');
  });
});
