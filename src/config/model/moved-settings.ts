import { stringify } from 'yaml';

/** Where each setting of the mapping of earlier releases is in the model file. */
const MOVED: Readonly<Record<string, readonly [path: string, kind: 'text' | 'list' | 'base']>> = {
  DIRECTORY_ENTRY_UUID: ['uuid', 'text'],
  DIRECTORY_CREATED_AT: ['createdAt', 'text'],
  DIRECTORY_MODIFIED_AT: ['modifiedAt', 'text'],
  DIRECTORY_PEOPLE_BASE: ['users.base', 'base'],
  DIRECTORY_PEOPLE_FILTER: ['users.filter', 'text'],
  DIRECTORY_USER_ID: ['users.id', 'text'],
  DIRECTORY_USER_NAME: ['users.name', 'list'],
  DIRECTORY_USER_GIVEN_NAME: ['users.fields.givenName', 'text'],
  DIRECTORY_USER_FAMILY_NAME: ['users.fields.familyName', 'text'],
  DIRECTORY_USER_EMAIL: ['users.fields.email', 'text'],
  DIRECTORY_USER_SCHOOL_YEAR: ['users.fields.schoolYear', 'text'],
  DIRECTORY_USER_PHOTO: ['users.fields.photo', 'text'],
  DIRECTORY_USER_PICTURE: ['users.fields.picture', 'text'],
  DIRECTORY_GROUPS_BASE: ['groups.base', 'base'],
  DIRECTORY_GROUPS_FILTER: ['groups.filter', 'text'],
  DIRECTORY_GROUP_ID: ['groups.id', 'text'],
  DIRECTORY_GROUP_NAME: ['groups.name', 'list'],
  DIRECTORY_GROUP_DESCRIPTION: ['groups.fields.description', 'text'],
  DIRECTORY_GROUP_EMAIL: ['groups.fields.email', 'text'],
  DIRECTORY_GROUP_WEBSITE: ['groups.fields.website', 'text'],
  DIRECTORY_GROUP_MEMBER: ['groups.members.attribute', 'text'],
  DIRECTORY_GROUP_ADMIN: ['groups.admins.attribute', 'text'],
  DIRECTORY_GROUP_OWNER: ['groups.owners.attribute', 'text'],
  DIRECTORY_GROUP_CLASSES: ['groups.classes', 'list'],
};

export const MOVED_SETTINGS: readonly string[] = Object.keys(MOVED);

interface Tree {
  [key: string]: string | string[] | Tree;
}

/**
 * Returns one problem if the environment has settings that are now keys of the model file: their names, and all lines to
 * write. As before, an empty base is the base DN itself, and any other empty setting is not set.
 */
export function findMovedSettings(
  environment: Readonly<Record<string, string | undefined>>,
  file = 'model.yaml',
): string[] {
  const found = Object.entries(MOVED).flatMap(([name, [path, kind]]) => {
    const value = environment[name];
    return value === undefined || (value === '' && kind !== 'base')
      ? []
      : [{ name, path, kind, value: value.trim() }];
  });
  if (found.length === 0) return [];
  const tree: Tree = {};
  for (const { path, kind, value } of found)
    put(tree, path.split('.'), kind === 'list' ? itemsOf(value) : value);
  const names = found.map(({ name }) => name).join(', ');
  const lines = stringify(tree, { lineWidth: 0 }).trimEnd().replace(/^/gm, '    ');
  const cure = `Remove ${found.length === 1 ? 'it' : 'them'} from the environment, write these lines into ${file}, and set DIRECTORY_MODEL=${file}`;
  return [`${names} moved to the model file. ${cure}:\n${lines}`];
}

function put(tree: Tree, [key = '', ...rest]: readonly string[], value: string | string[]): void {
  if (rest.length === 0) {
    tree[key] = value;
    return;
  }
  const existing = tree[key];
  const below: Tree = typeof existing === 'object' && !Array.isArray(existing) ? existing : {};
  tree[key] = below;
  put(below, rest, value);
}

function itemsOf(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
