import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { LONGEST_WAIT } from '../eventually.js';

/** A received span. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty or missing for a root span. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: number | undefined;
  /** Attributes of the resource. */
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

/** Receives and keeps traces, like a collector of OpenTelemetry. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** All received bodies. */
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

  /** Settings of a service that exports its traces here with a short delay. */
  get environment(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
  }

  /** Waits for a span, and fails after a timeout. */
  async until(isIt: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    const signal = AbortSignal.timeout(LONGEST_WAIT);
    for (;;) {
      const found = this.spans.find(isIt);
      if (found !== undefined) return found;
      if (signal.aborted) throw new Error(`Among ${this.spans.map(({ name }) => name).join(', ')} it is not`);
      await new Promise<void>((resolve) => {
        this.arrived.push(resolve);
        signal.addEventListener('abort', () => resolve());
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
    for (const notify of this.arrived.splice(0)) notify();
  }
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
