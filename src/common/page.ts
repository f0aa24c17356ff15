/** The arguments of a connection. An accepted document has exactly one of `first` and `last`. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** The selected fields of an object by name, each with the fields selected below it. */
export type SelectedFields = ReadonlyMap<string, SelectedFields>;

/** Selected parts of a connection. Parts that are not selected are neither counted nor read. */
export interface PageSelection {
  /** Equal for equal selections. */
  readonly cacheKey: string;
  readonly rows: boolean;
  /** Rows for which cursors are selected: each edge, the ends of the page, or none. */
  readonly cursors: 'every' | 'ends' | 'none';
  readonly totalCount: boolean;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Fields of a node, from every place where it is selected. */
  readonly node: SelectedFields;
}
