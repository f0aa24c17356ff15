import {
  diag,
  DiagLogLevel,
  trace,
  type Tracer,
  type Context,
  context,
  createContextKey,
  type Span,
} from '@opentelemetry/api';
import { NodeSDK, resources } from '@opentelemetry/sdk-node';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { readBuild } from '../../config/build.js';

/** The OpenTelemetry SDK, which reads its own environment variables (exporter, endpoint, sampler). */
@Injectable()
export class Tracing implements OnApplicationShutdown {
  readonly tracer: Tracer;
  private readonly sdk: NodeSDK;

  constructor(@Inject(CONFIG) { monitoring }: Config) {
    logErrorsOnce(new Logger('Tracing'));
    this.sdk = new NodeSDK({
      ...(monitoring.traces === null ? {} : { serviceName: monitoring.traces.serviceName }),
      resource: resources.resourceFromAttributes({ 'service.version': readBuild().version }),
      // Others would disclose properties of the machine and the command line. The id of the instance is random.
      resourceDetectors: [resources.serviceInstanceIdDetector, resources.envDetector],
      instrumentations: [],
      metricReaders: [],
      logRecordProcessors: [],
    });
    this.sdk.start();
    this.tracer = trace.getTracer('directory-service', readBuild().version);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.sdk.shutdown().catch(() => undefined);
  }
}

/** Logs each problem once, because an unavailable collector fails for every batch. */
function logErrorsOnce(logger: Logger): void {
  const reported = new Set<string>();
  const report = (message: string) => {
    const [line = ''] = /(?<="message":")[^"\\]*/.exec(message) ?? message.split('\n');
    if (!reported.has(line)) logger.warn(`Traces: ${line}`);
    reported.add(line);
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

export interface RequestTrace {
  readonly request: Span;
  /** Null before the operation starts. */
  operation: Span | null;
}

const KEY = createContextKey('The trace of the current request');

export function contextOf(requestTrace: RequestTrace, parent: Context): Context {
  return trace.setSpan(parent, requestTrace.request).setValue(KEY, requestTrace);
}

/** Returns the request of the present asynchronous context. Undefined: there is none. */
export function currentTrace(): RequestTrace | undefined {
  return context.active().getValue(KEY) as RequestTrace | undefined;
}

/** Returns the context for a child span of the operation, or of the request before the operation starts. */
export function contextBelow({ request, operation }: RequestTrace): Context {
  return trace.setSpan(context.active(), operation ?? request);
}
