import { Extensions } from '@nestjs/graphql';

/**
 * What an answer depends on, besides the operation and the scopes of the token: the revision of the mirror, the
 * person that the token acts for, or the minute in which signed URLs are given out.
 */
export type Dependence = 'mirror' | 'subject' | 'minute';

/**
 * Declares what a field depends on. Answers are remembered where every root field depends on nothing but what it
 * declares; a root field that declares nothing is asked anew each time.
 */
export function DependsOn(...dependences: Dependence[]): MethodDecorator {
  return Extensions({ dependsOn: dependences });
}
