import { Field, ObjectType } from '@nestjs/graphql';
import { Personal } from '../access-log/personal-data.decorator.js';
import { InheritAccess } from '../auth/access.js';
import { DateTime } from '../graphql/schema/scalars.js';

@ObjectType({ description: 'A preview of a change. The service does not apply it.' })
export class ChangePreview {
  constructor(ldif: string, basedOn: Date | null) {
    this.ldif = ldif;
    this.basedOn = basedOn;
  }

  @Personal()
  @InheritAccess()
  @Field(() => String, {
    description:
      'The change as LDIF change records (RFC 2849), which an administrator applies with `ldapmodify`. The ' +
      'records name the values that they replace. The directory therefore rejects them if these values have ' +
      'changed in the meantime.',
  })
  ldif: string;

  @InheritAccess()
  @Field(() => Boolean, {
    description: 'Whether the change was applied. Always false: an administrator applies the LDIF.',
  })
  readonly persisted: boolean = false;

  @InheritAccess()
  @Field(() => DateTime, {
    nullable: true,
    description:
      'The age of the data that the preview is based on. It contains every change that was made in the ' +
      'directory before this instant.',
  })
  basedOn: Date | null;
}

/** Members that the payloads of all mutations share. */
@ObjectType({ isAbstract: true })
export abstract class ChangePayload {
  @InheritAccess()
  @Field(() => String, { nullable: true, description: 'The `clientMutationId` of the input, unchanged.' })
  clientMutationId!: string | null;

  @InheritAccess()
  @Field(() => ChangePreview, { description: 'The change, and the LDIF that makes it permanent.' })
  preview!: ChangePreview;
}
