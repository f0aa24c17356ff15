import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What a test wants changed of a good token; null removes a member. */
export interface SignRequest {
  header?: Record<string, unknown>;
  payload?: Record<string, unknown>;
  /** Signed with a key that is not published. */
  stranger?: boolean;
}

/** The external issuer of issuer.mjs, in a process of its own. */
export class ExternalIssuerProcess {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  /** @param port a port to listen on again after a stop; without it, a free one */
  static async start(port = 0): Promise<ExternalIssuerProcess> {
    const child = spawn(process.execPath, ['test/support/issuer.mjs', '--port', String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new ExternalIssuerProcess((JSON.parse(line) as { issuer: string }).issuer, child);
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

  /** A token by client credentials, as an Authorization header. */
  async token(client: string, body: Record<string, string> = {}): Promise<string> {
    const secret = client.replace(/-client$/, '-secret');
    const response = await fetch(`${this.url}/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read profile', ...body }),
    });
    return authorizationOf(response);
  }

  /** A JWT that differs from a good one in this, signed with the current key. */
  async sign(request: SignRequest = {}): Promise<string> {
    return authorizationOf(await this.post('sign', request));
  }

  /** An opaque token, of which introspection tells this. */
  async opaque(introspection: Record<string, unknown>): Promise<string> {
    return authorizationOf(await this.post('opaque', introspection));
  }

  async rotate({ drop }: { drop: boolean }): Promise<void> {
    await this.post(`rotate?drop=${String(drop)}`);
  }

  /** Answers nothing but 503 until `resume`. */
  async pause(): Promise<void> {
    await this.post('pause');
  }

  async resume(): Promise<void> {
    await this.post('resume');
  }

  async registerClient(client: Record<string, unknown>): Promise<void> {
    await this.post('clients', client);
  }

  /** How often a path was asked for. */
  async countRequests(path: string): Promise<number> {
    const response = await fetch(`${this.url}/test/requests`);
    return ((await response.json()) as Record<string, number>)[path] ?? 0;
  }

  private post(action: string, body?: object): Promise<Response> {
    return fetch(`${this.url}/test/${action}`, {
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
