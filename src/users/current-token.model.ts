import { Field, ObjectType, registerEnumType } from '@nestjs/graphql';
import { InheritAccess } from '../auth/access.js';
import type { Principal } from '../auth/principal.js';
import { type Scope, SCOPES } from '../auth/scopes.js';
import { DateTime } from '../graphql/schema/scalars.js';

export enum TokenKind {
  ACCESS_TOKEN = 'ACCESS_TOKEN',
  PERSONAL_ACCESS_TOKEN = 'PERSONAL_ACCESS_TOKEN',
  SERVICE_ACCOUNT_TOKEN = 'SERVICE_ACCOUNT_TOKEN',
}

registerEnumType(TokenKind, {
  name: 'TokenKind',
  description: 'The kinds of tokens that are accepted.',
  valuesMap: {
    ACCESS_TOKEN: { description: 'An access token that an application holds for a person who signed in.' },
    PERSONAL_ACCESS_TOKEN: {
      description:
        'An access token of the client-credentials grant: a client has it for itself, or for the person who owns the client.',
    },
    SERVICE_ACCOUNT_TOKEN: { description: 'Of a program that acts on behalf of nobody.' },
  },
});

@ObjectType({ description: 'The token that came with this request.' })
export class CurrentToken {
  constructor(readonly principal: Principal) {
    this.kind = TokenKind[principal.kind];
    this.scopes = SCOPES.filter((scope) => principal.scopes.has(scope));
    this.clientId = principal.clientId;
    this.expiresAt = principal.expiresAt;
  }

  @InheritAccess()
  @Field(() => TokenKind, { description: 'What kind of token it is.' })
  readonly kind: TokenKind;

  @InheritAccess()
  @Field(() => [String], { description: 'The scopes that it has, of those that mean something here.' })
  readonly scopes: Scope[];

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The OAuth client that it was issued to.' })
  readonly clientId: string | null;

  @InheritAccess()
  @Field(() => DateTime, { nullable: true, description: 'When it ends; null when that is not known.' })
  readonly expiresAt: Date | null;
}
