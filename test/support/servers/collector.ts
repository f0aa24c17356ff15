import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { LONGEST_WAIT } from '../eventually.js';

/** A span as it was received. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty, or not there: it has none. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: number | undefined;
  /** Attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** OTLP/HTTP 1.x, in JSON. */
interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes' | 'status' | 'resource'> & {
        readonly attributes: readonly Attribute[];
        readonly status?: { readonly code?: number };
      })[];
    }[];
  }[];
}

/** Takes traces as a collector of OpenTelemetry does, and keeps them. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** All that was sent, as it came. */
  received = '';
  private arrived: (() => void)[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        collector.take(body);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    const collector = new Collector(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** Of a service that sends its traces here, soon after they are made. */
  get environment(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
  }

  /** Waits for one, and fails when it does not come within a time. */
  async until(isIt: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    const signal = AbortSignal.timeout(LONGEST_WAIT);
    for (;;) {
      const found = this.spans.find(isIt);
      if (found !== undefined) return found;
      if (signal.aborted) throw new Error(`Among ${this.spans.map(({ name }) => name).join(', ')} it is not`);
      await new Promise<void>((resolve) => {
        this.arrived.push(resolve);
        signal.addEventListener('abort', () => {
          resolve();
        });
      });
    }
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(body: string): void {
    this.received += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as Export).resourceSpans) {
      for (const { attributes, status, ...span } of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          ...span,
          attributes: valuesOf(attributes),
          status: status?.code,
          resource: valuesOf(resource.attributes),
        });
      }
    }
    for (const tell of this.arrived.splice(0)) tell();
  }
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
