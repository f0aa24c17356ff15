import { resolveFields } from '../../common/field.js';
import { GROUP_FIELDS } from '../../groups/group.fields.js';
import { USER_FIELDS } from '../../users/user.fields.js';
import type { DirectorySettings } from '../settings/directory-settings.js';
import type { DirectoryMapping } from './mapping.js';

export function buildMapping(settings: DirectorySettings): DirectoryMapping {
  const below = (base: string) =>
    base === '' ? settings.DIRECTORY_BASE_DN : `${base},${settings.DIRECTORY_BASE_DN}`;
  const everyEntry = {
    uuid: settings.DIRECTORY_ENTRY_UUID,
    createdAt: settings.DIRECTORY_CREATED_AT,
    modifiedAt: settings.DIRECTORY_MODIFIED_AT,
    disabled: null,
  };
  return {
    users: {
      ...everyEntry,
      base: below(settings.DIRECTORY_PEOPLE_BASE),
      filter: settings.DIRECTORY_PEOPLE_FILTER,
      id: settings.DIRECTORY_USER_ID,
      name: settings.DIRECTORY_USER_NAME,
      fields: resolveFields(USER_FIELDS, attributesOfUsers(settings)),
      rules: [],
    },
    groups: {
      ...everyEntry,
      base: below(settings.DIRECTORY_GROUPS_BASE),
      filter: settings.DIRECTORY_GROUPS_FILTER,
      id: settings.DIRECTORY_GROUP_ID,
      name: settings.DIRECTORY_GROUP_NAME,
      fields: resolveFields(GROUP_FIELDS, attributesOfGroups(settings)),
      rules: [],
      memberRules: [],
      member: settings.DIRECTORY_GROUP_MEMBER,
      admin: settings.DIRECTORY_GROUP_ADMIN,
      owner: settings.DIRECTORY_GROUP_OWNER,
      classes: settings.DIRECTORY_GROUP_CLASSES,
    },
  };
}

function attributesOfUsers(settings: DirectorySettings): Record<string, readonly string[]> {
  return {
    id: [settings.DIRECTORY_USER_ID],
    name: settings.DIRECTORY_USER_NAME,
    givenName: [settings.DIRECTORY_USER_GIVEN_NAME],
    familyName: [settings.DIRECTORY_USER_FAMILY_NAME],
    email: [settings.DIRECTORY_USER_EMAIL],
    schoolYear: [settings.DIRECTORY_USER_SCHOOL_YEAR],
    photo: [settings.DIRECTORY_USER_PHOTO],
    picture: [settings.DIRECTORY_USER_PICTURE],
    createdAt: [settings.DIRECTORY_CREATED_AT],
  };
}

function attributesOfGroups(settings: DirectorySettings): Record<string, readonly string[]> {
  return {
    id: [settings.DIRECTORY_GROUP_ID],
    name: settings.DIRECTORY_GROUP_NAME,
    description: [settings.DIRECTORY_GROUP_DESCRIPTION],
    website: [settings.DIRECTORY_GROUP_WEBSITE],
    email: [settings.DIRECTORY_GROUP_EMAIL],
    createdAt: [settings.DIRECTORY_CREATED_AT],
  };
}
