import { compileFilter, InvalidFilterError } from '../../ldap/filter/filter.js';
import type { ReadModel } from './read-model.js';

/** Returns the problems of filters that only a server can evaluate, for a directory in a file. */
export function findServerFilters({ model, yaml }: ReadModel, file: string | undefined): string[] {
  return (['users', 'groups'] as const).flatMap((kind) => {
    const { filter } = model[kind] ?? {};
    const place = yaml?.placeOfValue([kind, 'filter']);
    if (filter === undefined || place === undefined) return [];
    try {
      compileFilter(filter);
      return [];
    } catch (error) {
      if (!(error instanceof InvalidFilterError)) throw error;
      const cure = 'Write a filter by the values of an entry, because DIRECTORY_URL names a file';
      return [`${file ?? ''}:${place.line}:${place.column}: ${kind}.filter is an ${error.message}. ${cure}.`];
    }
  });
}
