import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import { request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Change } from '../changes/change.model.js';
import { describeChange } from '../changes/stream/change-events.js';
import { isPublicAddress } from '../common/public-address.js';
import { hostOf } from '../common/url.js';
import { withEither } from '../common/with-either.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';

/** Milliseconds for a delivery, from the resolution of the name to the status. */
const TIMEOUT_MS = 15_000;
/** Code of the error of a name that has private addresses only. */
const PRIVATE = 'EPRIVATE';

/** Why a delivery failed, without parts of the address or of the answer. */
export interface DeliveryFailure {
  readonly reason: string;
  /** Seconds after which the receiver wants the next attempt; null if it does not say. */
  readonly retryAfter: number | null;
}

/**
 * Sends a change as Standard Webhooks specifies. The id is the same at each attempt.
 * @returns null if the receiver has accepted it
 */
export async function deliver(
  { url, secret, allowPrivate }: WebhookTarget,
  change: Change,
  signal: AbortSignal,
): Promise<DeliveryFailure | null> {
  const now = new Date();
  const body = JSON.stringify({
    type: change.kind,
    timestamp: change.at.toISOString(),
    data: describeChange(change),
  });
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'directory-service',
      'webhook-id': change.id,
      'webhook-timestamp': Math.floor(now.getTime() / 1000),
      'webhook-signature': new Webhook(secret).sign(change.id, now, body),
    };
    const { status, retryAfter } = await withEither([signal, timeout], (either) =>
      post(new URL(url), headers, body, allowPrivate, either),
    );
    return status >= 200 && status < 300 ? null : { reason: `it answers ${status}`, retryAfter };
  } catch (error) {
    const reason = timeout.aborted
      ? `it does not answer within ${TIMEOUT_MS / 1000} seconds`
      : reasonOf(error);
    return { reason, retryAfter: null };
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter: number | null;
}

/** The body of the answer is not read, and redirects are not followed. Each attempt has a connection of its own. */
function post(
  url: URL,
  headers: Readonly<Record<string, string | number>>,
  body: string,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  const host = hostOf(url);
  // A name is resolved by `lookup`, which an address does not pass.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return Promise.reject(privateError());
  const send = url.protocol === 'https:' ? sendHttps : sendHttp;
  const options = { method: 'POST', headers, signal, agent: false as const };
  return new Promise((resolveAnswer, reject) => {
    const sent = send(url, { ...options, ...(allowPrivate ? {} : { lookup: lookupPublic }) }, (response) => {
      const retryAfter = secondsUntil(response.headers['retry-after'], Date.now());
      response.destroy();
      resolveAnswer({ status: response.statusCode ?? 0, retryAfter });
    });
    // Node destroys a connection that would change its protocol, and reports nothing else.
    sent.on('upgrade', (response, socket) => {
      socket.destroy();
      resolveAnswer({ status: response.statusCode ?? 0, retryAfter: null });
    });
    sent.on('error', reject);
    sent.on('close', () => {
      reject(Object.assign(new Error('The connection was closed without an answer'), { code: 'ECONNRESET' }));
    });
    sent.end(body);
  });
}

/**
 * The pause that a `Retry-After` header asks for, which has seconds or a date (RFC 9110 §10.2.3). Null: none.
 * @param now milliseconds since 1970
 */
export function secondsUntil(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return seconds > 0 ? seconds : null;
}

/** Resolves a name to its public addresses, right before the connection, so that no other resolution comes in between. */
const lookupPublic: LookupFunction = (hostname, options: LookupOptions, callback) => {
  resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const addresses = error === null ? found.filter(({ address }) => isPublicAddress(address)) : [];
    const [first] = addresses;
    if (first === undefined) callback(error ?? privateError(), '');
    else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

function privateError(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address is private'), { code: PRIVATE });
}

/** Messages of Node contain addresses. */
function reasonOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code === PRIVATE ? 'its address is private' : `it cannot be reached (${code ?? name})`;
}
