import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { declaredAccess } from './access.js';

/** Refuses to start with a route whose controller and method do not declare what it requires of a token. */
@Injectable()
export class DeclaredRoutes implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    const problems = this.discovery
      .getControllers()
      .flatMap(({ metatype }) => problemsOf(metatype, this.scanner));
    if (problems.length > 0) throw new Error(`The routes are not complete:\n${problems.join('\n')}`);
  }
}

function problemsOf(controller: unknown, scanner: MetadataScanner): string[] {
  if (typeof controller !== 'function') return [];
  const prototype = controller.prototype as Record<string, object>;
  return scanner.getAllMethodNames(prototype).flatMap((name) => {
    const method = prototype[name];
    if (method === undefined || !Reflect.hasMetadata(PATH_METADATA, method)) return [];
    const access = declaredAccess(method, controller);
    if (access !== undefined && access.kind !== 'inherited') return [];
    return [
      `The route ${controller.name}.${name} does not declare its access: @Public, @RequireToken or @RequireScopes`,
    ];
  });
}
