import { AccessLogEntity } from './access-log/access-log.entity.js';
import { ChangeEntity } from './changes/change.entity.js';
import { GroupEntity } from './groups/group.entity.js';
import { NestingEntity } from './groups/nesting.entity.js';
import { EffectiveMembershipEntity } from './memberships/effective-membership.entity.js';
import { MembershipEntity } from './memberships/membership.entity.js';
import { ServiceAccountSecretEntity } from './service-accounts/service-account-secret.entity.js';
import { ServiceAccountEntity } from './service-accounts/service-account.entity.js';
import { PictureEntity } from './users/picture.entity.js';
import { UserEntity } from './users/user.entity.js';

/** Every entity of the house: each lives in the room that owns it. */
export const ENTITIES = [
  UserEntity,
  PictureEntity,
  GroupEntity,
  NestingEntity,
  MembershipEntity,
  EffectiveMembershipEntity,
  ChangeEntity,
  ServiceAccountEntity,
  ServiceAccountSecretEntity,
  AccessLogEntity,
];
