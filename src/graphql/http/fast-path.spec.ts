import type { IncomingMessage } from 'node:http';
import { readConfig } from '../../config/config.js';
import { LoadGate } from '../rate-limit/load-shedder.js';
import type { RateLimiter } from '../rate-limit/rate-limiter.js';
import { type ShortAnswer, ShortWay } from './fast-path.js';

/** A gate that takes on as many as it may, and has just refused more than it could read. */
function flooded(): LoadGate {
  const gate = new LoadGate();
  // So far ahead that no further look comes while it is asked.
  const now = performance.now() + 3_600_000;
  gate.begin(now);
  for (let taken = 1; taken < gate.standing.most; taken++) gate.begin(now);
  for (let refused = 0; refused < 100; refused++) gate.begin(now);
  // The next look, after its interval.
  gate.begin(now + 150);
  return gate;
}

/** The status of what is answered at once; null: that is left to others. */
function ask(gate: LoadGate, url: string, headers: IncomingMessage['headers'] = {}): number | null {
  const config = readConfig({ BASE_URL: 'http://127.0.0.1:3000/school' });
  const nobody = null as never;
  const way = new ShortWay(
    nobody,
    config,
    nobody,
    { isShared: true } as RateLimiter,
    nobody,
    gate,
    nobody,
    nobody,
  );
  let status: number | null = null;
  const send = (answer: ShortAnswer) => {
    status = answer.status;
  };
  way.take(
    { method: 'POST', url, headers, rawHeaders: [] as string[] } as IncomingMessage,
    send,
    () => undefined,
  );
  return status;
}

describe('a flood', () => {
  it('is refused at the endpoint, with the path of the service or without it, and counted', () => {
    for (const url of ['/graphql/v1', '/graphql/v1?query={a}', '/school/graphql/v1']) {
      const gate = flooded();
      const { refused } = gate.standing;
      expect([url, ask(gate, url), gate.standing.refused]).toEqual([url, 503, refused + 1]);
    }
  });

  it.each(['/', '/_health', '/photo/v1/anna', '/graphql/v1x', '/graphql/v1/schema.graphql'])(
    'leaves %s to others',
    (url) => {
      expect(ask(flooded(), url)).toBeNull();
    },
  );

  it('leaves pages of other origins to who tells them that they may read it', () => {
    expect(ask(flooded(), '/graphql/v1', { origin: 'https://club.example.org' })).toBeNull();
  });

  it('is none where there is room', () => {
    expect(ask(new LoadGate(), '/graphql/v1')).toBeNull();
  });
});
