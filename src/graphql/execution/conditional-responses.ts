import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { readBuild } from '../../config/build.js';
import type { Config } from '../../config/config.js';
import { CONFIG } from '../../config/config.module.js';
import { Revisions } from '../../database/revisions/revisions.js';
import { Staleness } from '../../database/staleness.js';
import { seesEverything, type Viewer } from '../../database/visibility/viewer.js';
import { matchesEtag } from '../../http/entity-tags.js';
import { nameOf, withSubject } from '../cache/response-cache.js';
import { periodOfUrls } from '../cache/url-renewal.js';
import type { PipelineRequest, PipelineResponse } from '../http/pipeline-request.js';

/** Everything that determines a response: equal values have equal responses. */
interface Representation {
  /** The name in the response cache: scopes, subject if it matters, method, media type and text of the request. */
  readonly name: string;
  /** The period of its signed URLs; null if it has none. */
  readonly period: number | null;
  /** The ids of revisions in which it is the same, first the one from which it was read. */
  readonly revisions: readonly string[];
}

/** Characters of an entity tag, of six bits each. */
const TAG_LENGTH = 22;
/** For caches of one client only, which ask before each use. A shared cache that ignores it must distinguish callers. */
const REVALIDATED = {
  'cache-control': 'private, no-cache',
  vary: 'Accept, Accept-Encoding, Authorization, Origin',
};

/**
 * Conditional requests by GET (RFC 9110 §13.1.2, docs/adr/0048). An entity tag names a revision, the audience and the request, so
 * it can be compared before the operation is executed.
 */
@Injectable()
export class ConditionalResponses {
  /** The hash of what else decides about responses: the release, and the settings of URLs, fields and documents. */
  private readonly service: string;

  constructor(
    @Inject(CONFIG) { baseUrl, model, directory, trustedDocuments }: Config,
    private readonly revisions: Revisions,
    private readonly staleness: Staleness,
  ) {
    const { version, commit } = readBuild();
    // The name of a request by documentId has the id of the document, and not its text.
    const documents = [...(trustedDocuments?.documents ?? [])];
    const parts = [version, commit, baseUrl, directory.server, model, documents];
    this.service = hash('sha256', JSON.stringify(parts));
  }

  /** The response to a GET with its entity tag, or 304 if the client has it. */
  tag(
    request: PipelineRequest,
    response: PipelineResponse,
    representation: Representation,
  ): PipelineResponse {
    const unchanged = this.unchanged(request, representation);
    if (unchanged !== null) return unchanged;
    const { name, period, revisions } = representation;
    const etag = `W/${this.tagOf(name, revisions[0] ?? '', period)}`;
    return { ...response, headers: { ...response.headers, ...REVALIDATED, etag } };
  }

  /** 304 without an execution, if the client has the response; otherwise undefined. The operation was charged before. */
  respond(request: PipelineRequest): undefined | Promise<PipelineResponse | undefined> {
    const { validated, cacheKey, context } = request;
    const dependencies = validated?.cacheDependencies ?? null;
    const revision = this.revisions.current;
    if (dependencies?.has('mirror') !== true || cacheKey === null || context === null || revision === null)
      return undefined;
    const period = dependencies.has('period') ? periodOfUrls(new Date()) : null;
    const own = withSubject(dependencies);
    for (const each of this.hidesFrom(context.viewer) ? [own] : [dependencies, own]) {
      const name = nameOf(cacheKey, each);
      const unchanged = this.unchanged(request, { name, period, revisions: [revision.id] });
      if (unchanged !== null) return this.describe(request, revision.id, unchanged);
    }
    return undefined;
  }

  /** Whether the revision may hide something from the viewer. Then only the tag with the subject was sent. */
  private hidesFrom(viewer: Viewer): boolean {
    return this.revisions.hides && !seesEverything(viewer);
  }

  private unchanged(
    { headers, responseType }: PipelineRequest,
    { name, period, revisions }: Representation,
  ): PipelineResponse | null {
    const known = headers['if-none-match'];
    if (known === undefined) return null;
    for (const revision of revisions) {
      const tag = this.tagOf(name, revision, period);
      if (matchesEtag(known, tag))
        return {
          status: 304,
          type: responseType ?? '',
          headers: { ...REVALIDATED, etag: `W/${tag}` },
          body: '',
        };
    }
    return null;
  }

  private async describe(
    request: PipelineRequest,
    revision: string,
    response: PipelineResponse,
  ): Promise<PipelineResponse> {
    request.mirrorRead = await this.staleness.describe(revision, this.staleness.asOf);
    return response;
  }

  private tagOf(name: string, revision: string, period: number | null): string {
    const text = `${this.service}\n${revision}\n${period}\n${name}`;
    return `"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;
  }
}
