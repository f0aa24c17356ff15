/** The arguments of a connection: exactly one of `first` and `last` is there once a document has been accepted. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** The fields that are selected of an object, by name, each with those selected below it. */
export type SelectedFields = ReadonlyMap<string, SelectedFields>;

/** Of which rows cursors are asked for: of each edge, of the ends of the page, of none. */
export type SelectedCursors = 'every' | 'ends' | 'none';

/** What of a connection somebody asked for: the rest is neither counted nor looked up. */
export interface PageSelection {
  /** Stands for all of the rest: equal for equal selections. */
  readonly name: string;
  readonly rows: boolean;
  readonly cursors: SelectedCursors;
  readonly totalCount: boolean;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** What of each node, wherever it is selected. */
  readonly node: SelectedFields;
}

export type OrderDirection = 'ASC' | 'DESC';

export function opposite(direction: OrderDirection): OrderDirection {
  return direction === 'ASC' ? 'DESC' : 'ASC';
}
