import { Extensions } from '@nestjs/graphql';

/**
 * What an answer depends on, besides the operation and the scopes of the token: the revision of the mirror, the
 * person that the token acts for, the minute in which signed URLs are given out, or something that is another one for each request.
 */
export type Dependence = 'mirror' | 'subject' | 'minute' | 'request';

/**
 * Declares what a field depends on. Answers are remembered where every root field depends on nothing but what it
 * declares; a root field that declares nothing, or depends on the request, is asked anew each time. One that declares nothing also
 * counts as one that reads the directory.
 */
export function DependsOn(...dependences: Dependence[]): MethodDecorator {
  return Extensions({ dependsOn: dependences });
}
