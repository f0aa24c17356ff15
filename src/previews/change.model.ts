import { Field, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { DateTime } from '../graphql/schema/scalars.js';

@ObjectType({ description: 'A change that was worked out and not made.' })
export class ChangePreview {
  constructor(ldif: string, basedOn: Date | null) {
    this.ldif = ldif;
    this.basedOn = basedOn;
  }

  @Personal()
  @InheritAccess()
  @Field(() => String, {
    description:
      'The change as LDIF change records (RFC 2849), for an administrator to apply with `ldapmodify`. They name what ' +
      'they replace, so that the directory refuses them when it has changed in the meantime.',
  })
  ldif: string;

  @InheritAccess()
  @Field(() => Boolean, {
    description: 'Whether the change was made. Always false: only an administrator makes it, with the LDIF.',
  })
  readonly persisted: boolean = false;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description:
      'How fresh what the change was worked out from is: every change made in the directory before this instant is in it.',
  })
  basedOn: Date | null;
}

/** Members that the payloads of all mutations share. */
@ObjectType({ isAbstract: true })
export abstract class ChangePayload {
  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The `clientMutationId` of the input, as it came.' })
  clientMutationId!: string | null;

  @InheritAccess()
  @Field(() => ChangePreview, { description: 'The change itself, and how to make it permanent.' })
  preview!: ChangePreview;
}
