import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DocumentParser } from '../analysis/document-parser.js';
import { OperationValidator } from '../analysis/operation-validator.js';
import { Responses } from '../execution/responses.js';
import {
  isEndpoint,
  type PipelineResponse,
  PipelineState,
  type PipelineRequest,
} from './pipeline-request.js';
import { readParameters, readHead } from './request-reading.js';
import { RequestAdmission } from './request-admission.js';

type Outcome = PipelineResponse | undefined;

/** A step throws to reject the request, returns a response to answer it, or passes it on. */
type Step = (request: PipelineRequest) => unknown;

type Done = (error: Error | null, response?: PipelineResponse) => void;

/**
 * The pipeline of the GraphQL endpoint: every request passes these steps in this order. Before them, HttpAdapter
 * chooses the request id; after them, RequestWatch writes the log.
 */
@Injectable()
export class RequestPipeline {
  private readonly beforeBody: readonly Step[] = [
    /* load shedding   */ (request) => this.admission.shedLoad(request),
    /* head            */ readHead,
    /* authenticate    */ (request) => this.admission.authenticate(request),
    /* rate limit      */ (request) => this.admission.countRequest(request),
  ];

  private readonly afterBody: readonly Step[] = [
    /* response cache  */ (request) => this.responses.respondCached(request),
    /* load shedding   */ (request) => this.admission.beginOperation(request),
    /* body            */ (request) => void (request.parameters = readParameters(request)),
    /* document        */ (request) => this.documents.resolve(request),
    /* parse, validate */ (request) => this.documents.parse(request),
    /* policy          */ (request) => this.validator.applyPolicy(request),
    /* register        */ (request) => this.documents.register(request),
    /* conditional     */ (request) => this.responses.respondUnchanged(request),
    /* execute         */ (request) => this.responses.execute(request),
  ];

  private readonly steps = [...this.beforeBody, ...this.afterBody];

  constructor(
    private readonly admission: RequestAdmission,
    private readonly documents: DocumentParser,
    private readonly validator: OperationValidator,
    private readonly responses: Responses,
  ) {}

  register(fastify: FastifyInstance): void {
    for (const [name, value] of Object.entries(new PipelineState())) {
      if (!fastify.hasRequestDecorator(name)) fastify.decorateRequest(name, value as null);
    }
    fastify.addHook('onRequest', (request, reply, done) => {
      if (!isEndpoint(request)) {
        done();
        return;
      }
      request.rateLimits = [];
      this.run(request, this.beforeBody.length, (error, response) => {
        if (response === undefined) done(error ?? undefined);
        else send(response, reply);
      });
    });
    fastify.addHook('preHandler', (request, reply, done) => {
      if (!isEndpoint(request)) {
        done();
        return;
      }
      this.runAll(request, (error, response) => {
        // Here, because nothing is sent, and no later hook runs, if the request was rejected in the meantime as a late one.
        this.admission.endOperation(request);
        if (response === undefined) done(error ?? undefined);
        else send(response, reply);
      });
    });
    fastify.addHook('onSend', (request, reply, payload, done) => {
      if (request.rateLimits === null) done(null, payload);
      else this.finish(request, reply, payload, done);
    });
  }

  /** Runs all steps that are left, of which the last one responds. */
  runAll(request: PipelineRequest, done: Done): void {
    this.run(request, this.steps.length, (error, response) => {
      done(
        error ?? (response === undefined ? new Error('No step of the pipeline has responded') : null),
        response,
      );
    });
  }

  /** Runs steps until one answers or rejects the request. Synchronous steps cause no asynchronous turn. */
  private run(request: PipelineRequest, end: number, done: Done): void {
    try {
      while (request.stepsDone < end) {
        const outcome = this.steps[request.stepsDone++]?.(request) as Outcome | Promise<Outcome>;
        if (outcome instanceof Promise) {
          outcome.then((response) => {
            if (response) done(null, response);
            else this.run(request, end, done);
          }, done);
          return;
        }
        if (outcome) {
          done(null, outcome);
          return;
        }
      }
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null);
  }

  private setHeaders(request: FastifyRequest, reply: FastifyReply): void {
    for (const headers of this.admission.headersOf(request))
      if (headers !== null) void reply.headers(headers);
  }

  private finish(
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: Error | null, payload?: unknown) => void,
  ): void {
    const settling = this.admission.settle(request);
    if (settling === undefined) {
      this.setHeaders(request, reply);
      done(null, payload);
      return;
    }
    settling.then((rejection) => {
      this.setHeaders(request, reply);
      if (rejection === null) {
        done(null, payload);
        return;
      }
      const { status, headers, type, body } = rejection;
      void reply
        .code(status)
        .headers(headers)
        .type(type)
        .removeHeader('content-length')
        .removeHeader('www-authenticate');
      done(null, body);
    }, done);
  }
}

function send({ status, headers, type, body }: PipelineResponse, reply: FastifyReply): void {
  // Without a body, there is no length either (RFC 9110 §8.6). For HEAD, Fastify announces one unless it is a stream.
  const nothing = reply.request.method === 'HEAD' ? Readable.from([]) : undefined;
  if (status === 304) void reply.code(status).headers(headers).send(nothing);
  else void reply.code(status).headers(headers).type(type).send(body);
}
