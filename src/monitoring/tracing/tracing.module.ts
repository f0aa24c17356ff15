import { Module } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { IssuerSpans } from './issuer-spans.js';
import { OperationSpans } from './operation-spans.js';
import { RequestSpans } from './request-spans.js';
import { StatementSpans } from './statement-spans.js';
import { SynchronizationSpans } from './synchronization-spans.js';
import { Tracing } from './tracing.js';

/** Traces with OpenTelemetry. The module is loaded only where traces are configured. */
@Module({
  providers: [Tracing, IssuerSpans, OperationSpans, RequestSpans, StatementSpans, SynchronizationSpans],
})
export class TracingModule {
  constructor(
    private readonly requests: RequestSpans,
    private readonly operations: OperationSpans,
  ) {}

  /** Registers the spans of requests and operations on Fastify. It is called once. */
  register(fastify: FastifyInstance): void {
    this.requests.register(fastify);
    this.operations.register(fastify);
  }
}
