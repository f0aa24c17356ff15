import { createHmac } from 'node:crypto';
import { lookup as resolve, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type Change, describeChange } from '../changes/change.model.js';
import { ServiceError } from '../common/errors.js';
import { hostOf, isPublicAddress } from '../common/url.js';
import type { WebhookTarget } from '../config/webhooks/webhook-file.js';

/** Milliseconds for a delivery, from the resolution of the name to the status. */
const TIMEOUT_MS = 15_000;
const TOO_LATE = new ServiceError('TIMEOUT', `it does not answer within ${TIMEOUT_MS / 1000} seconds`);
const PRIVATE = new ServiceError('FORBIDDEN', 'its address is private');

/**
 * Sends a change as Standard Webhooks specifies. The id is the same at each attempt.
 * @returns null if the receiver has accepted it, otherwise why not, without parts of the address or of the answer
 */
export async function deliver(
  target: WebhookTarget,
  change: Change,
  signal: AbortSignal,
): Promise<string | null> {
  const body = JSON.stringify({
    type: change.kind,
    timestamp: change.at.toISOString(),
    data: describeChange(change),
  });
  const seconds = Math.floor(Date.now() / 1000);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'directory-service',
    'webhook-id': change.id,
    'webhook-timestamp': seconds,
    'webhook-signature': sign(target.secret, `${change.id}.${seconds}.${body}`),
  };
  try {
    const status = await post(target, headers, body, signal);
    return status >= 200 && status < 300 ? null : `it answers ${status}`;
  } catch (error) {
    if (error instanceof ServiceError) return error.message;
    // Messages of Node contain addresses.
    const { code, name } = error as NodeJS.ErrnoException;
    return `it cannot be reached (${code ?? name})`;
  }
}

/** The signature of Standard Webhooks: of version 1, which is symmetric. */
function sign(secret: string, signed: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

/**
 * The status of the answer, whose body is not read. Redirects are not followed. Each attempt has a connection of its own, so that a
 * receiver can move to another address.
 */
async function post(
  { url: address, allowPrivate }: WebhookTarget,
  headers: Readonly<Record<string, string | number>>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const url = new URL(address);
  const host = hostOf(url);
  // A name is resolved by `lookup`, which an address does not pass.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw PRIVATE;
  const send = url.protocol === 'https:' ? sendHttps : sendHttp;
  const lookup = allowPrivate ? {} : { lookup: lookupPublic, autoSelectFamily: true };
  const sent = send(url, { method: 'POST', headers, signal, agent: false, ...lookup });
  // Node destroys a connection that would change its protocol, and reports nothing else.
  sent.on('upgrade', (response) => sent.emit('response', response));
  // Also after the answer.
  sent.on('error', () => undefined);
  const timer = setTimeout(() => sent.destroy(TOO_LATE), TIMEOUT_MS);
  try {
    const [response] = (await once(sent.end(body), 'response')) as [IncomingMessage];
    response.socket.destroy();
    return response.statusCode ?? 0;
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves a name to its public addresses, right before the connection, so that no other resolution comes in between. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const addresses = (error === null ? found : []).filter(({ address }) => isPublicAddress(address));
    callback(error ?? (addresses.length === 0 ? PRIVATE : null), addresses);
  });
};
