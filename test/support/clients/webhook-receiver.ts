import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { ListedChange } from './changes.js';

/** A message that a receiver has verified. */
export interface ReceivedMessage {
  readonly id: string;
  readonly path: string;
  readonly body: { type: string; timestamp: string; data: ListedChange & { id: string } };
}

/** How a receiver answers. It can act before it answers. */
export type Answer = (message: ReceivedMessage, response: ServerResponse) => unknown;

export const ACCEPT: Answer = (_, response) => void response.writeHead(204).end();

/** A receiver of webhooks, which verifies each message with the library of Standard Webhooks. */
export class WebhookReceiver {
  static readonly SECRET = `whsec_${Buffer.alloc(32, 'secret of a test').toString('base64')}`;
  /** Every attempt. */
  readonly messages: ReceivedMessage[] = [];
  /** Connections, also without a message. */
  connections = 0;
  answer: Answer = ACCEPT;

  private constructor(private readonly server: Server) {
    server.on('connection', () => this.connections++);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.take(request, response);
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** The messages at a path by their ids, without repetitions. */
  idsAt(path: string): string[] {
    return [...new Set(this.messages.filter((each) => each.path === path).map(({ id }) => id))];
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { headers } = request;
    const named = { ...headers } as Record<string, string>;
    const body = new Webhook(WebhookReceiver.SECRET).verify(text, named) as ReceivedMessage['body'];
    const message = { id: named['webhook-id'] ?? '', path: request.url ?? '', body };
    this.messages.push(message);
    await this.answer(message, response);
  }
}
