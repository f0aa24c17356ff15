import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PartEvents } from '../../src/changes/stream/change-events.js';
import { ChangeStream, type StreamRequest } from '../../src/changes/stream/change-stream.js';

const POSITION = { cursor: 'cursor', number: 0 } as unknown as ChangeStream['position'];
const ASKED = {
  viewer: { id: null, seesHidden: false, limitedTo: null },
  filter: {},
} as unknown as StreamRequest;
const CHUNK = Buffer.alloc(65_536, '\n');
const EVENTS = {
  part: { end: POSITION, changes: [] },
  select: () => ({ bytes: CHUNK, users: 0 }),
} as unknown as PartEvents;

describe('a stream that ends', () => {
  let server: Server;

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('closes its connection although the client does not read', async () => {
    const sent = request({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      agent: false,
    }).end();
    sent.on('response', (received) => received.on('error', () => undefined)).on('error', () => undefined);
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    const stream = new ChangeStream(ASKED, POSITION, response);
    // Until the buffers of both ends are full, so that the end itself cannot be sent.
    for (let roundsFull = 0; roundsFull < 5; roundsFull++) {
      while (response.writableLength === 0) {
        roundsFull = 0;
        stream.send(EVENTS);
      }
      await sleep(50);
    }
    expect(response.writableLength).toBeGreaterThan(0);
    const closed = once(response, 'close');
    stream.end();
    expect([stream.isOpen, response.destroyed]).toEqual([false, false]);
    await closed;
  });
});
