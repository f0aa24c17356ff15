import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';

/** Whether there is a page at this path, below the path of the service. */
export type IsServed = (path: string) => boolean;

/** Which pages there are: settings leave rooms out, and none of them knows of the others. */
@Injectable()
export class ServedPages {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  readonly isServed: IsServed = (url) =>
    this.host.httpAdapter.getInstance<FastifyInstance>().hasRoute({ method: 'GET', url });
}
