import { Field, ID, ObjectType } from '@nestjs/graphql';
import { InheritAccess } from '../../auth/access.js';
import { Group } from '../../groups/group.model.js';
import { ChangePayload } from '../change.model.js';

@ObjectType({ description: 'What `createGroup` would do.' })
export class CreateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group, as it would be.' })
  group!: Group;
}

@ObjectType({ description: 'What `updateGroup` would do.' })
export class UpdateGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => Group, { description: 'The group, as it would be.' })
  group!: Group;
}

@ObjectType({ description: 'What `deleteGroup` would do.' })
export class DeleteGroupPayload extends ChangePayload {
  @InheritAccess()
  @Field(() => ID, { description: 'The id of the group that would be gone.' })
  deletedGroupId!: string;
}
