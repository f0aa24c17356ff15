/** The arguments of a connection: exactly one of `first` and `last` is there once a document has been accepted. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** What of a connection somebody asked for: the rest is neither counted nor looked up. */
export interface PageSelection {
  readonly rows: boolean;
  readonly totalCount: boolean;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

export type OrderDirection = 'ASC' | 'DESC';
