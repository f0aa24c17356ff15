import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../auth/access.js';
import { AccessLog } from '../access-log/access-log.js';
import type { PersonalDataAccess } from '../access-log/personal-data.decorator.js';
import { readMaxStaleness, headersOfRead } from '../database/staleness.js';
import { type Picture, PicturesService } from './pictures.service.js';
import type { PictureKind } from './signing/signed-url.js';
import { PROBLEM_FORM, ReadOnlyGuard, type RejectionForm } from '../http/rejection.js';

const PERSONAL_DATA: Readonly<Record<PictureKind, PersonalDataAccess>> = {
  photo: { fields: ['User.photo'], users: [1] },
  picture: { fields: ['User.picture'], users: [1] },
};

/**
 * Serves pictures without a token, because the signature grants the permission. The routes are wildcards because ids may
 * exceed the length of a named parameter, and because only the raw path is verified.
 */
@Public()
@Controller()
@UseGuards(ReadOnlyGuard)
export class MediaController {
  constructor(
    private readonly pictures: PicturesService,
    private readonly accessLog: AccessLog,
  ) {}

  @All(['photo/v1/*', 'picture/v1/*'])
  async getPicture(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const picture = await this.pictures.get({
      target: request.raw.url ?? '',
      accept: request.headers.accept,
      ifNoneMatch: request.headers['if-none-match'],
      maxStaleness: readMaxStaleness(request.headers),
    });
    // A response without bytes discloses no personal data.
    if (request.method === 'GET' && picture.bytes !== null)
      this.accessLog.noteSignedUrl(PERSONAL_DATA[picture.kind]);
    send(reply, picture);
  }
}

/** Sends the picture, only its headers for HEAD, or 304 when the client already has it. */
function send(reply: FastifyReply, { bytes, mediaType, etag, maxAge, read }: Picture): void {
  const vary = reply.getHeader('Vary');
  void reply.headers({
    ...PICTURE_HEADERS,
    ...headersOfRead(read),
    // The CORS handler may have set the header before.
    Vary: vary === undefined ? 'Accept' : `${String(vary)}, Accept`,
    ETag: etag,
    'Cache-Control': `private, max-age=${maxAge}`,
  });
  if (bytes === null) {
    void reply.code(304).send();
    return;
  }
  void reply.code(200).type(mediaType).header('Content-Length', bytes.length);
  void reply.send(reply.request.method === 'HEAD' ? undefined : bytes);
}

/** Headers of every response, including errors. Pages of other sites may display a picture and read nothing. */
const PICTURE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
} as const;

/** Rejections below the paths of pictures: problem details with the headers of pictures. */
export const PICTURE_REJECTIONS: RejectionForm = {
  matches: ({ url }) => url.startsWith('/photo/v1/') || url.startsWith('/picture/v1/'),
  about: () => null,
  write: (rejection, requestId, request) => {
    const problem = PROBLEM_FORM.write(rejection, requestId, request);
    return { ...problem, headers: { ...problem.headers, ...PICTURE_HEADERS } };
  },
};
