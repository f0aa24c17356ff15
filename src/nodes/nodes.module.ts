import { Module } from '@nestjs/common';
import { NodesResolver } from './nodes.resolver.js';
import { NodesService } from './nodes.service.js';

@Module({ providers: [NodesResolver, NodesService] })
export class NodesModule {}
