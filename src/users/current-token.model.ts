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
  description: 'The kinds of tokens that the service accepts.',
  valuesMap: {
    ACCESS_TOKEN: { description: 'An access token of an application for a user who signed in.' },
    PERSONAL_ACCESS_TOKEN: {
      description:
        'An access token of the client-credentials grant. A client uses it for itself, or for the person who owns the client.',
    },
    SERVICE_ACCOUNT_TOKEN: { description: 'The token of a service account, which acts for no user.' },
  },
});

@ObjectType({ description: 'The token of this request.' })
export class CurrentToken {
  constructor(readonly principal: Principal) {
    this.kind = TokenKind[principal.kind];
    this.scopes = SCOPES.filter((scope) => principal.scopes.has(scope));
    this.clientId = principal.clientId;
    this.expiresAt = principal.expiresAt;
  }

  @InheritAccess()
  @Field(() => TokenKind, { description: 'The kind of the token.' })
  readonly kind: TokenKind;

  @InheritAccess()
  @Field(() => [String], { description: 'The scopes of the token that this service knows.' })
  readonly scopes: Scope[];

  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The OAuth client to which the token was issued.' })
  readonly clientId: string | null;

  @InheritAccess()
  @Field(() => DateTime, { nullable: true, description: 'When the token expires. Null if unknown.' })
  readonly expiresAt: Date | null;
}
