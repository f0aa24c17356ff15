import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { JsonWebKey } from 'node:crypto';
import { createInterface } from 'node:readline';
import { spawnBound } from '../spawn-bound.mjs';

/** Changes to a valid token: null removes a member, and a string replaces the whole part. */
export interface SignRequest {
  header?: Record<string, unknown> | string;
  payload?: Record<string, unknown> | string;
  /** Signed with an unpublished key. */
  stranger?: boolean;
}

/** Replaces all responses: as JSON unless the headers state another type. */
export interface IssuerOverride {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Number of repetitions of the body. */
  times?: number;
}

/** The external issuer of issuer.mjs, in a process of its own. */
export class ExternalIssuerProcess {
  private constructor(
    readonly url: string,
    readonly port: number,
    private readonly child: ChildProcess,
  ) {}

  /**
   * @param port a port to listen on again after a stop; default: a free one
   * @param url its URL behind a proxy; default: the URL of its port
   */
  static async start(port = 0, url?: string): Promise<ExternalIssuerProcess> {
    const name = url === undefined ? [] : ['--issuer', url];
    const child = spawnBound(
      process.execPath,
      ['test/support/servers/issuer.mjs', '--port', String(port), ...name],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const started = JSON.parse(line) as { issuer: string; port: number };
    return new ExternalIssuerProcess(started.issuer, started.port, child);
  }

  /** The environment of a service that trusts this issuer. */
  get environment(): Record<string, string> {
    return {
      AUTH_URL: this.url,
      AUTH_AUDIENCE: 'urn:test:directory',
      AUTH_INTROSPECTION_CLIENT_ID: 'directory-service',
      AUTH_INTROSPECTION_CLIENT_SECRET: 'service-secret',
    };
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }

  /** Pauses the process (SIGSTOP) until `unfreeze`. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  unfreeze(): void {
    this.child.kill('SIGCONT');
  }

  /** Gets a token by client credentials, as an Authorization header. */
  async token(client: string, body: Record<string, string> = {}): Promise<string> {
    const secret = client.replace(/-client$/, '-secret');
    const response = await fetch(`${this.address}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read profile', ...body }),
    });
    return authorizationOf(response);
  }

  /** Creates a JWT that differs from a valid one in this way, signed with the current key. */
  async sign(request: SignRequest = {}): Promise<string> {
    return authorizationOf(await this.post('sign', request));
  }

  /** Signs with this private key from now on, for its algorithm. */
  async publish(jwk: JsonWebKey): Promise<void> {
    await this.post('publish', jwk);
  }

  /**
   * Registers an opaque token, for which introspection returns this, and the service as audience unless `aud` is given; default:
   * a new token.
   */
  async opaque(introspection: Record<string, unknown>, token?: string): Promise<string> {
    return authorizationOf(
      await this.post(token === undefined ? 'opaque' : `opaque?token=${token}`, introspection),
    );
  }

  async rotate({ drop }: { drop: boolean }): Promise<void> {
    await this.post(`rotate?drop=${String(drop)}`);
  }

  /** Returns only this response until `resume`. */
  async respondWith(override: IssuerOverride): Promise<void> {
    await this.post('respond', override);
  }

  /** Returns only 503 until `resume`. */
  async pause(): Promise<void> {
    await this.post('pause');
  }

  async resume(): Promise<void> {
    await this.post('resume');
  }

  /** Number of requests for a path. */
  async countRequests(path: string): Promise<number> {
    const response = await fetch(`${this.address}/test/requests`);
    return ((await response.json()) as Record<string, number>)[path] ?? 0;
  }

  /** Without the proxy. */
  private get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private post(action: string, body?: object): Promise<Response> {
    return fetch(`${this.address}/test/${action}`, {
      method: 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

async function authorizationOf(response: Response): Promise<string> {
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`The issuer gave no token (${response.status})`);
  return `Bearer ${token}`;
}
